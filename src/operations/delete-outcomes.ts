import type { FifoDeleteOutcome } from '../db/message-store.ts';
import type { Queue } from '../db/queue-store.ts';
import { invalidParameter, invalidReceiptHandle, SqsError } from '../sqs/errors.ts';
import { eachAloneWhenBusy } from './busy-groups.ts';
import type { RequestContext } from './operation.ts';

/** Deletes by receipt handles; for each the error that its caller gets, if any. */
export async function deleteByHandles(
  context: RequestContext,
  queue: Queue,
  receiptHandles: readonly string[],
): Promise<(SqsError | undefined)[]> {
  const outcomes: (FifoDeleteOutcome | SqsError)[] = queue.isFifo
    ? await eachAloneWhenBusy(receiptHandles, (handles) =>
        context.messages.deleteFifo(queue.id, handles),
      )
    : await context.messages.delete(queue.id, receiptHandles);
  if (queue.isFifo && outcomes.includes('deleted')) {
    // What is behind the head of a group may go now.
    context.announceMessages(queue.id);
  }
  return receiptHandles.map((receiptHandle, index) => {
    const outcome = outcomes[index];
    if (outcome instanceof SqsError) {
      return outcome;
    }
    switch (outcome) {
      case 'invalid':
        return invalidReceiptHandle(receiptHandle);
      case 'expired':
        return invalidParameter(receiptHandle, 'ReceiptHandle', 'The receipt handle has expired.');
      default:
        return undefined;
    }
  });
}
