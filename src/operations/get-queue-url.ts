import { isFifoName, queueUrl, requireQueueName } from '../sqs/queue-address.ts';
import { getQueueUrl as shapes } from '../sqs/shapes/queues.ts';
import { defineOperation } from './operation.ts';

export const getQueueUrl = defineOperation({
  action: 'GetQueueUrl',
  shapes,
  isAllowedOnQueuePath: true,
  run(context, { QueueName, QueueOwnerAWSAccountId }) {
    const name = requireQueueName(QueueName, isFifoName(QueueName ?? ''));
    const address = { accountId: QueueOwnerAWSAccountId ?? context.accountId, name };
    return context.queues.withQueue(address, async (queue) => ({
      QueueUrl: queueUrl(context.baseUrl, queue),
    }));
  },
});
