import { missingParameter, SqsError } from '../sqs/errors.ts';
import { type BatchError, changeMessageVisibilityBatch as shapes } from '../sqs/shapes/messages.ts';
import { attempt, batchError, batchResult, requireBatchEntries } from './batch.ts';
import { defineQueueOperation } from './operation.ts';
import { changeByHandles, changeError, timeoutOutOfRange } from './visibility-changes.ts';

const entryName = 'ChangeMessageVisibilityBatchRequestEntry';

export const changeMessageVisibilityBatch = defineQueueOperation({
  action: 'ChangeMessageVisibilityBatch',
  shapes,
  async run(context, queue, input) {
    const failed: BatchError[] = [];
    const changes = requireBatchEntries(input.Entries, entryName).flatMap((entry, index) => {
      const change = attempt(() => requireChange(entry, index + 1));
      if (change instanceof SqsError) {
        failed.push(batchError(entry.Id, change));
        return [];
      }
      return [{ id: entry.Id, ...change }];
    });

    const outcomes = changes.length === 0 ? [] : await changeByHandles(context, queue, changes);
    const successful = changes.flatMap(({ id, receiptHandle, timeoutSeconds }, index) => {
      const error = changeError(outcomes[index], receiptHandle, timeoutSeconds);
      if (error !== undefined) {
        failed.push(batchError(id, error));
        return [];
      }
      return [{ Id: id }];
    });
    if (changes.some(({ timeoutSeconds }) => timeoutSeconds === 0)) {
      context.announceMessages(queue.id);
    }
    return batchResult(successful, failed);
  },
});

function requireChange(
  entry: { ReceiptHandle?: string; VisibilityTimeout?: number },
  position: number,
): { receiptHandle: string; timeoutSeconds: number } {
  const { ReceiptHandle: receiptHandle, VisibilityTimeout: timeoutSeconds } = entry;
  if (!receiptHandle) {
    throw missingParameter(`${entryName}.${position}.ReceiptHandle`);
  }
  if (timeoutSeconds === undefined) {
    throw missingParameter(`${entryName}.${position}.VisibilityTimeout`);
  }
  const rangeError = timeoutOutOfRange(
    timeoutSeconds,
    'VisibilityTimeout must be an integer between 0 and 43200.',
  );
  if (rangeError !== undefined) {
    throw rangeError;
  }
  return { receiptHandle, timeoutSeconds };
}
