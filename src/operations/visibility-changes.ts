import type { ChangeOutcome, VisibilityChange } from '../db/message-store.ts';
import type { Queue } from '../db/queue-store.ts';
import {
  invalidParameter,
  invalidReceiptHandle,
  messageBusy,
  type SqsError,
} from '../sqs/errors.ts';
import { isWithin, limits } from '../sqs/limits.ts';
import type { RequestContext } from './operation.ts';

export async function changeByHandles(
  context: RequestContext,
  queue: Queue,
  changes: readonly VisibilityChange[],
): Promise<ChangeOutcome[]> {
  return queue.isFifo
    ? await context.messages.changeFifoVisibility(queue.id, changes)
    : await context.messages.changeVisibility(queue.id, changes);
}

/** The error for a timeout that no message can have. AWS words it differently in a batch. */
export function timeoutOutOfRange(seconds: number, reason: string): SqsError | undefined {
  return isWithin(seconds, limits.visibilityTimeoutSeconds)
    ? undefined
    : invalidParameter(seconds, 'VisibilityTimeout', reason);
}

/** The error that an outcome of the change stands for. */
export function changeError(
  outcome: ChangeOutcome | undefined,
  receiptHandle: string,
  timeoutSeconds: number,
): SqsError | undefined {
  switch (outcome) {
    case 'invalid':
      return invalidReceiptHandle(receiptHandle);
    case 'busy':
      return messageBusy();
    case 'missing':
      return invalidParameter(
        receiptHandle,
        'ReceiptHandle',
        'Message does not exist or is not available for visibility timeout change.',
      );
    case 'too_long':
      return invalidParameter(
        timeoutSeconds,
        'VisibilityTimeout',
        `Total VisibilityTimeout for the message is beyond the limit [${limits.visibilityTimeoutSeconds.maximum} seconds]`,
      );
    default:
      return undefined;
  }
}
