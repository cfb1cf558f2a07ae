import { deleteQueue as shapes } from '../sqs/shapes/queues.ts';
import { defineQueueOperation } from './operation.ts';

export const deleteQueue = defineQueueOperation({
  action: 'DeleteQueue',
  shapes,
  async run(context, queue) {
    await context.store.deleteQueue(queue.id);
    context.queues.forget(queue);
    context.announceMessages(queue.id);
    return {};
  },
});
