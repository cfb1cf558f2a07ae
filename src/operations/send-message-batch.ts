import type { Queue } from '../db/queue-store.ts';
import { missingParameter, SqsError } from '../sqs/errors.ts';
import { limits } from '../sqs/limits.ts';
import { sequenceNumber } from '../sqs/sequence-number.ts';
import {
  type BatchError,
  type SendMessageBatchEntry,
  sendMessageBatch as shapes,
} from '../sqs/shapes/messages.ts';
import { attempt, batchError, batchResult, requireBatchEntries } from './batch.ts';
import {
  inputSizeBytes,
  messageTooLong,
  missingDeduplicationId,
  requireFifoMessage,
  requireMessage,
  type ValidMessage,
} from './message-input.ts';
import { defineQueueOperation, type RequestContext } from './operation.ts';

const entryName = 'SendMessageBatchRequestEntry';

type Entry = SendMessageBatchEntry & { Id: string };

/** What became of a stored entry: the members that answer it, or its error. */
type Stored = { MessageId: string; SequenceNumber?: string } | SqsError;

export const sendMessageBatch = defineQueueOperation({
  action: 'SendMessageBatch',
  shapes,
  async run(context, queue, input) {
    const entries = requireBatchEntries(input.Entries, entryName);
    const size = entries.reduce((total, entry) => total + inputSizeBytes(entry), 0);
    if (size > limits.batchSizeBytes) {
      throw new SqsError(
        'BatchRequestTooLong',
        `Batch requests cannot be longer than ${limits.batchSizeBytes} bytes. You have sent ${size} bytes.`,
      );
    }
    const result = queue.isFifo
      ? await sendToFifoQueue(context, queue, entries)
      : await sendToStandardQueue(context, queue, entries);
    if (result.Successful !== undefined) {
      context.announceMessages(queue.id);
    }
    return result;
  },
});

function sendToStandardQueue(context: RequestContext, queue: Queue, entries: Entry[]) {
  return sendValid(
    entries,
    (entry, emptyBody) => requireMessage(context, entry, emptyBody),
    async (messages) =>
      (await context.messages.send(queue.id, messages)).map(
        (sent): Stored =>
          sent.messageId === undefined
            ? messageTooLong(sent.maximumMessageSizeBytes, true)
            : { MessageId: sent.messageId },
      ),
  );
}

function sendToFifoQueue(context: RequestContext, queue: Queue, entries: Entry[]) {
  requireFifoIds(queue, entries);
  return sendValid(
    entries,
    (entry, emptyBody) => requireFifoMessage(context, entry, emptyBody),
    async (messages) => {
      const groupIds = messages.map(({ groupId }) => groupId);
      const all = await context.groupTurns.take(
        queue.id,
        groupIds,
        context.messages.fifoSend(queue.id, messages),
      );
      return all.map((sent): Stored => {
        switch (sent.refusal) {
          case 'too_long':
            return messageTooLong(sent.maximumMessageSizeBytes, true);
          case 'no_deduplication_id':
            return missingDeduplicationId();
          default:
            return {
              MessageId: sent.messageId,
              SequenceNumber: sequenceNumber(sent.sequenceNumber),
            };
        }
      });
    },
  );
}

/** On AWS an entry without these fails the whole batch, and with another code than a single send. */
function requireFifoIds(queue: Queue, entries: readonly Entry[]): void {
  if (entries.some((entry) => entry.MessageGroupId === undefined)) {
    throw new SqsError('InvalidParameterValue', missingParameter('MessageGroupId').message);
  }
  const needsId = !queue.hasContentBasedDeduplication;
  if (needsId && entries.some((entry) => entry.MessageDeduplicationId === undefined)) {
    throw missingDeduplicationId();
  }
}

/** Stores the entries that pass their check, in one statement; the others fail alone. */
async function sendValid<Message>(
  entries: readonly Entry[],
  check: (entry: Entry, emptyBody: () => SqsError) => ValidMessage<Message>,
  store: (messages: Message[]) => Promise<Stored[]>,
) {
  const failed: BatchError[] = [];
  const valid: (ValidMessage<Message> & { id: string })[] = [];
  entries.forEach((entry, index) => {
    const emptyBody = () =>
      entry.MessageBody === undefined
        ? missingParameter(`${entryName}.${index + 1}.MessageBody`)
        : new SqsError('EmptyValue', 'The message body must not be empty.');
    const checked = attempt(() => check(entry, emptyBody));
    if (checked instanceof SqsError) {
      failed.push(batchError(entry.Id, checked));
    } else {
      valid.push({ id: entry.Id, ...checked });
    }
  });

  const stored = valid.length === 0 ? [] : await store(valid.map(({ message }) => message));
  const successful = valid.flatMap(({ id, checksums }, index) => {
    const outcome = stored[index];
    if (outcome === undefined || outcome instanceof SqsError) {
      failed.push(batchError(id, outcome ?? new SqsError('InternalFailure', 'Not stored.')));
      return [];
    }
    return [{ Id: id, ...checksums, ...outcome }];
  });
  return batchResult(successful, failed);
}
