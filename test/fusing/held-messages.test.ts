import { describe, expect, it } from 'vitest';
import { openSession } from '../engine/calls.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';

const database = useDatabase();
const server = useServer(database);

/** A queue with messages in flight, each in a group of its own, of which a transaction has the first. */
async function holdFirst(queueName: string, count: number) {
  const sqs = jsonClient(server.url);
  const isFifo = queueName.endsWith('.fifo');
  const { QueueUrl: queueUrl } = await sqs.createQueue({
    QueueName: queueName,
    ...(isFifo && { Attributes: { FifoQueue: 'true', ContentBasedDeduplication: 'true' } }),
  });
  for (let index = 0; index < count; index += 1) {
    await sqs.sendMessage({
      QueueUrl: queueUrl,
      MessageBody: `message ${index}`,
      ...(isFifo && { MessageGroupId: `${index}` }),
    });
  }
  const { Messages = [] } = await sqs.receiveMessage({
    QueueUrl: queueUrl,
    MaxNumberOfMessages: count,
  });
  const handles = Messages.map(({ ReceiptHandle }) => ReceiptHandle);
  expect(handles.length).toBe(count);
  const application = await openSession(database);
  await application.query('begin');
  await application.query('select trunkline.delete_message($1, $2)', [queueName, handles[0]]);
  const release = async () => {
    await application.query('rollback');
  };
  return { sqs, queueUrl, handles, release };
}

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
      const application = await openSession(database);
      await application.query('begin');
      await application.query('select trunkline.delete_message($1, $2)', [
        `held-${action}`,
        ReceiptHandle,
      ]);
      const call = { QueueUrl, ReceiptHandle, VisibilityTimeout: 5 };
      await expect(sqs[action](call)).rejects.toMatchObject(retryable);
      await application.query('rollback');
      await sqs[action](call);
      sqs.destroy();
    },
  );

  it.each(['held-batch', 'held-batch.fifo'])(
    'fails alone in a batch of the queue %s',
    async (queueName) => {
      const { sqs, queueUrl, handles, release } = await holdFirst(queueName, 4);
      const entries = handles.map((ReceiptHandle, index) => ({
        Id: `entry-${index}`,
        ReceiptHandle,
        VisibilityTimeout: 100,
      }));
      const onlyFirst = {
        Successful: [{ Id: 'entry-1' }, { Id: 'entry-2' }, { Id: 'entry-3' }],
        Failed: [{ Id: 'entry-0', Code: 'ServiceUnavailable', SenderFault: false }],
      };
      const batch = { QueueUrl: queueUrl, Entries: entries };
      expect(await sqs.changeMessageVisibilityBatch(batch)).toMatchObject(onlyFirst);
      expect(await sqs.deleteMessageBatch(batch)).toMatchObject(onlyFirst);
      await release();
      expect(await sqs.deleteMessageBatch(batch)).toMatchObject({ Successful: { length: 4 } });
      sqs.destroy();
    },
  );

  it.each(['held-others', 'held-others.fifo'])(
    'holds up no other message of the queue %s, and no other queue',
    async (queueName) => {
      const { sqs, queueUrl, handles, release } = await holdFirst(queueName, 10);
      const { QueueUrl: otherUrl } = await sqs.createQueue({
        QueueName: `beside-${handles.length}`,
      });
      let refused = 0;
      const [held, ...free] = handles;
      const input = { QueueUrl: queueUrl, ReceiptHandle: held, VisibilityTimeout: 100 };
      // Of each kind more than the server has connections.
      const refusals = Array.from({ length: 15 }, () => [
        sqs.deleteMessage(input),
        sqs.changeMessageVisibility(input),
      ]).flat();
      const counted = refusals.map((call) =>
        call.catch(() => {
          refused += 1;
        }),
      );
      await Promise.all([
        sqs.sendMessage({ QueueUrl: otherUrl, MessageBody: 'beside' }),
        ...free.map((ReceiptHandle) => sqs.deleteMessage({ QueueUrl: queueUrl, ReceiptHandle })),
      ]);
      expect(refused).toBe(0);
      await Promise.all(counted);
      expect(refused).toBe(30);
      await release();
      sqs.destroy();
    },
  );

  it('leaves connections to other queues, however many receives of it are repeated', async () => {
    const sqs = jsonClient(server.url);
    const { QueueUrl } = await sqs.createQueue({
      QueueName: 'held-repeats.fifo',
      Attributes: { FifoQueue: 'true', ContentBasedDeduplication: 'true' },
    });
    const { QueueUrl: otherUrl } = await sqs.createQueue({ QueueName: 'beside-repeats' });
    await sqs.sendMessage({ QueueUrl, MessageBody: 'held', MessageGroupId: 'g' });
    const attempt = { QueueUrl, ReceiveRequestAttemptId: 'attempt' };
    const { Messages = [] } = await sqs.receiveMessage(attempt);
    const application = await openSession(database);
    await application.query('begin');
    await application.query('select trunkline.delete_message($1, $2)', [
      'held-repeats.fifo',
      Messages[0]?.ReceiptHandle,
    ]);
    let refused = 0;
    let isOver = false;
    const repeats = Array.from({ length: 15 }, async () => {
      while (!isOver) {
        await sqs.receiveMessage(attempt).catch(() => {
          refused += 1;
        });
      }
    });
    await expect.poll(() => refused).toBeGreaterThan(0);
    const before = refused;
    for (let sent = 0; sent < 10; sent += 1) {
      await sqs.sendMessage({ QueueUrl: otherUrl, MessageBody: 'beside' });
    }
    // Had they all connections, ten would be refused while each send waits for one.
    expect(refused - before).toBeLessThan(50);
    isOver = true;
    await Promise.all(repeats);
    await application.query('rollback');
    sqs.destroy();
  });

  it('lets the repeat of its receive end with a retryable error', async () => {
    const sqs = jsonClient(server.url);
    const { QueueUrl } = await sqs.createQueue({
      QueueName: 'held.fifo',
      Attributes: { FifoQueue: 'true', ContentBasedDeduplication: 'true' },
    });
    await sqs.sendMessage({ QueueUrl, MessageBody: 'held', MessageGroupId: 'g' });
    const attempt = { QueueUrl, ReceiveRequestAttemptId: 'attempt' };
    const { Messages = [] } = await sqs.receiveMessage(attempt);
    const application = await openSession(database);
    await application.query('begin');
    await application.query('select trunkline.delete_message($1, $2)', [
      'held.fifo',
      Messages[0]?.ReceiptHandle,
    ]);
    await expect(sqs.receiveMessage(attempt)).rejects.toMatchObject(retryable);
    await application.query('rollback');
    const repeated = await sqs.receiveMessage(attempt);
    expect(repeated.Messages).toMatchObject([{ ReceiptHandle: Messages[0]?.ReceiptHandle }]);
    sqs.destroy();
  });
});
