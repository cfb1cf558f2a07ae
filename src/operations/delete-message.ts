import { missingParameter } from '../sqs/errors.ts';
import { deleteMessage as shapes } from '../sqs/shapes/messages.ts';
import { deleteByHandles } from './delete-outcomes.ts';
import { defineQueueOperation } from './operation.ts';

export const deleteMessage = defineQueueOperation({
  action: 'DeleteMessage',
  shapes,
  async run(context, queue, { ReceiptHandle }) {
    if (!ReceiptHandle) {
      throw missingParameter('ReceiptHandle');
    }
    const [error] = await deleteByHandles(context, queue, [ReceiptHandle]);
    if (error !== undefined) {
      throw error;
    }
    return {};
  },
});
