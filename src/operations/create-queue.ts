import { queueUrl, requireQueueName } from '../sqs/queue-address.ts';
import { requireStorableAttributes } from '../sqs/queue-attributes.ts';
import { createQueue as shapes } from '../sqs/shapes/queues.ts';
import { defineOperation } from './operation.ts';
import { requireTags } from './tags.ts';

export const createQueue = defineOperation({
  action: 'CreateQueue',
  shapes,
  async run(context, { QueueName, Attributes: attributes = {}, tags = {} }) {
    requireTags(tags);
    requireStorableAttributes(attributes);
    const address = { accountId: context.accountId, name: requireQueueName(QueueName) };
    await context.store.createQueue(address, {
      attributes,
      tags,
      cooldownSeconds: context.deletedNameCooldownSeconds,
    });
    return { QueueUrl: queueUrl(context.baseUrl(), address) };
  },
});
