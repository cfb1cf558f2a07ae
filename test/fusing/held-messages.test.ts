import { describe, expect, it } from 'vitest';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';

const database = useDatabase();
const server = useServer(database);

const retryable = { $metadata: { httpStatusCode: 503 } };

describe('A message that an open transaction has deleted', () => {
  it.each(['deleteMessage', 'changeMessageVisibility'] as const)(
    'lets %s through the server end with a retryable error, and nobody else wait',
    async (action) => {
      const sqs = jsonClient(server.url);
      const { QueueUrl } = await sqs.createQueue({ QueueName: `held-${action}` });
      await sqs.sendMessage({ QueueUrl, MessageBody: 'held' });
      const { Messages = [] } = await sqs.receiveMessage({ QueueUrl });
      const ReceiptHandle = Messages[0]?.ReceiptHandle;
      const application = await database.pool.connect();
      await application.query('begin');
      await application.query('select trunkline.delete_message($1, $2)', [
        `held-${action}`,
        ReceiptHandle,
      ]);
      const call = { QueueUrl, ReceiptHandle, VisibilityTimeout: 5 };
      await expect(sqs[action](call)).rejects.toMatchObject(retryable);
      await application.query('rollback');
      application.release();
      await sqs[action](call);
      sqs.destroy();
    },
  );

  it('lets the repeat of its receive end with a retryable error', async () => {
    const sqs = jsonClient(server.url);
    const { QueueUrl } = await sqs.createQueue({
      QueueName: 'held.fifo',
      Attributes: { FifoQueue: 'true', ContentBasedDeduplication: 'true' },
    });
    await sqs.sendMessage({ QueueUrl, MessageBody: 'held', MessageGroupId: 'g' });
    const attempt = { QueueUrl, ReceiveRequestAttemptId: 'attempt' };
    const { Messages = [] } = await sqs.receiveMessage(attempt);
    const application = await database.pool.connect();
    await application.query('begin');
    await application.query('select trunkline.delete_message($1, $2)', [
      'held.fifo',
      Messages[0]?.ReceiptHandle,
    ]);
    await expect(sqs.receiveMessage(attempt)).rejects.toMatchObject(retryable);
    await application.query('rollback');
    application.release();
    const repeated = await sqs.receiveMessage(attempt);
    expect(repeated.Messages).toMatchObject([{ ReceiptHandle: Messages[0]?.ReceiptHandle }]);
    sqs.destroy();
  });
});
