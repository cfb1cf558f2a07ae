import { missingParameter } from '../sqs/errors.ts';
import { changeMessageVisibility as shapes } from '../sqs/shapes/messages.ts';
import { defineQueueOperation } from './operation.ts';
import { changeByHandles, changeError, timeoutOutOfRange } from './visibility-changes.ts';

export const changeMessageVisibility = defineQueueOperation({
  action: 'ChangeMessageVisibility',
  shapes,
  async run(context, queue, { ReceiptHandle, VisibilityTimeout }) {
    if (!ReceiptHandle) {
      throw missingParameter('ReceiptHandle');
    }
    if (VisibilityTimeout === undefined) {
      throw missingParameter('VisibilityTimeout');
    }
    const rangeError = timeoutOutOfRange(VisibilityTimeout, 'Must be between 0 and 43200.');
    if (rangeError !== undefined) {
      throw rangeError;
    }
    const [outcome] = await changeByHandles(context, queue, [
      { receiptHandle: ReceiptHandle, timeoutSeconds: VisibilityTimeout },
    ]);
    const error = changeError(outcome, ReceiptHandle, VisibilityTimeout);
    if (error !== undefined) {
      throw error;
    }
    if (VisibilityTimeout === 0) {
      context.announceMessages(queue.id);
    }
    return {};
  },
});
