import type { Queue } from '../db/queue-store.ts';
import {
  invalidParameter,
  invalidReceiptHandle,
  messageBusy,
  type SqsError,
} from '../sqs/errors.ts';
import type { RequestContext } from './operation.ts';

/** Deletes by receipt handles; for each the error that its caller gets, if any. */
export async function deleteByHandles(
  context: RequestContext,
  queue: Queue,
  receiptHandles: readonly string[],
): Promise<(SqsError | undefined)[]> {
  const outcomes = queue.isFifo
    ? await context.messages.deleteFifo(queue.id, receiptHandles)
    : await context.messages.delete(queue.id, receiptHandles);
  if (queue.isFifo && outcomes.includes('deleted')) {
    // What is behind the head of a group may go now.
    context.announceMessages(queue.id);
  }
  return receiptHandles.map((receiptHandle, index) => {
    switch (outcomes[index]) {
      case 'invalid':
        return invalidReceiptHandle(receiptHandle);
      case 'busy':
        return messageBusy();
      case 'expired':
        return invalidParameter(receiptHandle, 'ReceiptHandle', 'The receipt handle has expired.');
      default:
        return undefined;
    }
  });
}
