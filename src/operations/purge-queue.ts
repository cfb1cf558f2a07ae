import { purgeQueue as shapes } from '../sqs/shapes/queues.ts';
import { defineQueueOperation } from './operation.ts';

export const purgeQueue = defineQueueOperation({
  action: 'PurgeQueue',
  shapes,
  async run(context, queue) {
    await context.store.purgeQueue(queue.id);
    context.queues.forget(queue);
    context.announceMessages(queue.id);
    return {};
  },
});
