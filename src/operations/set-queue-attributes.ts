import { requireStorableAttributes } from '../sqs/queue-attributes.ts';
import { setQueueAttributes as shapes } from '../sqs/shapes/queues.ts';
import { defineQueueOperation } from './operation.ts';

export const setQueueAttributes = defineQueueOperation({
  action: 'SetQueueAttributes',
  shapes,
  async run(context, queue, { Attributes = {} }) {
    requireStorableAttributes(Attributes);
    await context.store.setQueueAttributes(queue.id, Attributes);
    context.queues.forget(queue);
    return {};
  },
});
