import { invalidReceiptHandle, missingParameter } from '../sqs/errors.ts';
import { deleteMessage as shapes } from '../sqs/shapes/messages.ts';
import { defineQueueOperation } from './operation.ts';

export const deleteMessage = defineQueueOperation({
  action: 'DeleteMessage',
  shapes,
  async run(context, queue, { ReceiptHandle }) {
    if (!ReceiptHandle) {
      throw missingParameter('ReceiptHandle');
    }
    const [outcome] = await context.store.deleteMessages(queue.id, [ReceiptHandle]);
    if (outcome === 'invalid') {
      throw invalidReceiptHandle(ReceiptHandle);
    }
    return {};
  },
});
