import { missingParameter, SqsError } from '../sqs/errors.ts';
import { limits } from '../sqs/limits.ts';
import { type BatchError, sendMessageBatch as shapes } from '../sqs/shapes/messages.ts';
import { attempt, batchError, batchResult, requireBatchEntries } from './batch.ts';
import {
  messageSizeBytes,
  messageTooLong,
  requireMessage,
  type ValidMessage,
} from './message-input.ts';
import { defineQueueOperation } from './operation.ts';

const entryName = 'SendMessageBatchRequestEntry';

export const sendMessageBatch = defineQueueOperation({
  action: 'SendMessageBatch',
  shapes,
  async run(context, queue, input) {
    const entries = requireBatchEntries(input.Entries, entryName);
    const size = entries.reduce((total, entry) => total + messageSizeBytes(entry), 0);
    if (size > limits.batchSizeBytes) {
      throw new SqsError(
        'BatchRequestTooLong',
        `Batch requests cannot be longer than ${limits.batchSizeBytes} bytes. You have sent ${size} bytes.`,
      );
    }

    const failed: BatchError[] = [];
    const valid: (ValidMessage & { id: string })[] = [];
    entries.forEach((entry, index) => {
      const emptyBody =
        entry.MessageBody === undefined
          ? missingParameter(`${entryName}.${index + 1}.MessageBody`)
          : new SqsError('EmptyValue', 'The message body must not be empty.');
      const checked = attempt(() => requireMessage(context, entry, emptyBody));
      if (checked instanceof SqsError) {
        failed.push(batchError(entry.Id, checked));
      } else {
        valid.push({ id: entry.Id, ...checked });
      }
    });

    const sent =
      valid.length === 0
        ? []
        : await context.store.sendMessages(
            queue.id,
            valid.map(({ message }) => message),
          );
    const successful = valid.flatMap(({ id, checksums }, index) => {
      const result = sent[index];
      if (result?.messageId === undefined) {
        const maximum = result?.maximumMessageSizeBytes ?? limits.messageSizeBytes;
        failed.push(batchError(id, messageTooLong(maximum, true)));
        return [];
      }
      return [{ Id: id, ...checksums, MessageId: result.messageId }];
    });
    if (successful.length > 0) {
      context.announceMessages(queue.id);
    }
    return batchResult(successful, failed);
  },
});
