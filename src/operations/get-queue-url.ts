import { queueUrl, requireQueueName } from '../sqs/queue-address.ts';
import { getQueueUrl as shapes } from '../sqs/shapes/queues.ts';
import { defineOperation } from './operation.ts';

export const getQueueUrl = defineOperation({
  action: 'GetQueueUrl',
  shapes,
  isAllowedOnQueuePath: true,
  async run(context, { QueueName, QueueOwnerAWSAccountId }) {
    const address = {
      accountId: QueueOwnerAWSAccountId ?? context.accountId,
      name: requireQueueName(QueueName),
    };
    return await context.queues.withQueue(address, async (queue) => ({
      QueueUrl: queueUrl(context.baseUrl(), queue),
    }));
  },
});
