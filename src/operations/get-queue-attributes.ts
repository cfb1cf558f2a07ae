import { queueDoesNotExist } from '../sqs/errors.ts';
import { queueArn } from '../sqs/queue-address.ts';
import {
  needsCounts,
  renderQueueAttributes,
  requireKnownAttributes,
} from '../sqs/queue-attributes.ts';
import { getQueueAttributes as shapes } from '../sqs/shapes/queues.ts';
import { defineQueueOperation } from './operation.ts';

const noCounts = { visible: 0, inFlight: 0, delayed: 0 };

export const getQueueAttributes = defineQueueOperation({
  action: 'GetQueueAttributes',
  shapes,
  async run(context, { accountId, name }, { AttributeNames = [] }) {
    requireKnownAttributes(AttributeNames);
    // Settings are answered as they are now, not as remembered.
    const queue = await context.store.findQueue({ accountId, name });
    if (queue === undefined) {
      throw queueDoesNotExist();
    }
    const counts = needsCounts(AttributeNames)
      ? await context.store.countMessages(queue.id)
      : noCounts;
    const attributes = renderQueueAttributes(AttributeNames, queue.settings, {
      arn: queueArn(context.region, queue),
      createdAt: queue.createdAt,
      modifiedAt: queue.modifiedAt,
      counts,
    });
    return attributes ? { Attributes: attributes } : {};
  },
});
