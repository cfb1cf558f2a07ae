import { needsCounts, requireKnownAttributes } from '../sqs/queue-attributes.ts';
import { getQueueAttributes as shapes } from '../sqs/shapes/queues.ts';
import { defineQueueOperation } from './operation.ts';

export const getQueueAttributes = defineQueueOperation({
  action: 'GetQueueAttributes',
  shapes,
  async run(context, queue, { AttributeNames: names = [] }) {
    requireKnownAttributes(names);
    const all = await context.store.describeQueue(queue.id, {
      region: context.region,
      withCounts: needsCounts(names),
    });
    const askedFor = new Set(names);
    const asked = Object.entries(all).filter(([name]) => askedFor.has('All') || askedFor.has(name));
    return asked.length > 0 ? { Attributes: Object.fromEntries(asked) } : {};
  },
});
