import { describe, expect, it } from 'vitest';
import { openSession } from '../engine/calls.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';

const database = useDatabase();
const server = useServer(database, { poolSize: 3 });

const retryable = {
  name: 'ServiceUnavailable',
  message: expect.stringContaining('changing this queue'),
  $metadata: { httpStatusCode: 503 },
};

type Sqs = ReturnType<typeof jsonClient>;

const changes: [string, (sqs: Sqs, QueueUrl: string) => Promise<unknown>][] = [
  [
    'SetQueueAttributes',
    (sqs, QueueUrl) => sqs.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds: '1' } }),
  ],
  ['PurgeQueue', (sqs, QueueUrl) => sqs.purgeQueue({ QueueUrl })],
  ['DeleteQueue', (sqs, QueueUrl) => sqs.deleteQueue({ QueueUrl })],
];

describe('A queue that an open transaction has changed', () => {
  it.each(changes)('lets %s end with a retryable error', async (action, change) => {
    const sqs = jsonClient(server.url);
    const { QueueUrl = '' } = await sqs.createQueue({ QueueName: `held-${action}` });
    const application = await openSession(database);
    await application.query('begin');
    await application.query(`select trunkline.set_queue_attributes($1, '{"DelaySeconds": 2}')`, [
      `held-${action}`,
    ]);
    await expect(change(sqs, QueueUrl)).rejects.toMatchObject(retryable);
    await application.query('rollback');
    await change(sqs, QueueUrl);
    sqs.destroy();
  });

  it('is found by CreateQueue at once', async () => {
    const sqs = jsonClient(server.url);
    const { QueueUrl } = await sqs.createQueue({ QueueName: 'held-found' });
    const application = await openSession(database);
    await application.query('begin');
    await application.query(
      `select trunkline.set_queue_attributes('held-found', '{"DelaySeconds": 2}')`,
    );
    expect(await sqs.createQueue({ QueueName: 'held-found' })).toMatchObject({ QueueUrl });
    await application.query('rollback');
    sqs.destroy();
  });

  it('lets CreateQueue end with a retryable error', async () => {
    const sqs = jsonClient(server.url);
    const application = await openSession(database);
    await application.query('begin');
    await application.query(`select trunkline.create_queue('held-new')`);
    await expect(sqs.createQueue({ QueueName: 'held-new' })).rejects.toMatchObject(retryable);
    await application.query('rollback');
    await sqs.createQueue({ QueueName: 'held-new' });
    sqs.destroy();
  });

  it('keeps no request of another queue waiting', async () => {
    const sqs = jsonClient(server.url);
    const { QueueUrl: held } = await sqs.createQueue({ QueueName: 'held' });
    const { QueueUrl: other } = await sqs.createQueue({ QueueName: 'other' });
    const application = await openSession(database);
    await application.query('begin');
    await application.query(`select trunkline.purge_queue('held')`);
    const settings = Array.from({ length: 30 }, () =>
      sqs.setQueueAttributes({ QueueUrl: held, Attributes: { DelaySeconds: '1' } }),
    );
    const outcomes = Promise.allSettled(settings);
    const startedAtMs = performance.now();
    for (let number = 0; number < 10; number += 1) {
      await sqs.sendMessage({ QueueUrl: other, MessageBody: 'x' });
    }
    const sentWithinMs = performance.now() - startedAtMs;
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: retryable });
    }
    expect(sentWithinMs).toBeLessThan(1_000);
    await application.query('rollback');
    sqs.destroy();
  });

  it('is waited for when its transaction ends at once', async () => {
    const sqs = jsonClient(server.url);
    const { QueueUrl } = await sqs.createQueue({ QueueName: 'purged' });
    const application = await openSession(database);
    await application.query('begin');
    await application.query(`select trunkline.purge_queue('purged')`);
    const setting = sqs.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds: '1' } });
    const set = expect(setting).resolves.toBeDefined();
    await application.query('select pg_sleep(0.05)');
    await application.query('commit');
    await set;
    sqs.destroy();
  });
});

it('A change of a queue that is refused fails none behind it', async () => {
  const sqs = jsonClient(server.url);
  const { QueueUrl } = await sqs.createQueue({ QueueName: 'changed' });
  const set = (DelaySeconds: string) =>
    sqs.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds } });
  const outcomes = await Promise.allSettled(['1', '-1', '2', '-1', '3'].map(set));
  expect(outcomes.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  sqs.destroy();
});
