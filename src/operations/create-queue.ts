import { SqsError } from '../sqs/errors.ts';
import { isFifoName, queueUrl, requireQueueName } from '../sqs/queue-address.ts';
import { attributeOfColumn, parseQueueAttributes } from '../sqs/queue-attributes.ts';
import { createQueue as shapes } from '../sqs/shapes/queues.ts';
import { defineOperation } from './operation.ts';
import { requireRedriveTarget } from './redrive-target.ts';
import { requireTags } from './tags.ts';

export const createQueue = defineOperation({
  action: 'CreateQueue',
  shapes,
  async run(context, { QueueName, Attributes = {}, tags = {} }) {
    const isFifo = Attributes.FifoQueue?.toLowerCase() === 'true';
    const address = {
      accountId: context.accountId,
      name: requireQueueName(QueueName, isFifo),
    };
    const settings = parseQueueAttributes(Attributes, isFifo || isFifoName(address.name));
    requireTags(tags);
    await requireRedriveTarget(context, address, settings, isFifo);

    const { differingColumn } = await context.store.createQueue(
      address,
      settings,
      tags,
      context.deletedNameCooldownSeconds,
    );
    if (differingColumn !== null) {
      throw new SqsError(
        'QueueNameExists',
        `A queue already exists with the same name and a different value for attribute ${attributeOfColumn(differingColumn)}`,
      );
    }
    return { QueueUrl: queueUrl(context.baseUrl, address) };
  },
});
