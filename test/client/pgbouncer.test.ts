import { Pool } from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DatabaseSource, fromPostgresJs, Trunkline } from '../../src/client/index.ts';
import { migrate } from '../../src/db/migrate.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { openServer } from '../support/server.ts';
import { startConsumer } from './consuming.ts';
import { program, usePgBouncer } from './pgbouncer-process.ts';
import { isInstalled } from './programs.ts';

const hasPgBouncer = isInstalled(program);
const reason = hasPgBouncer ? '' : ' (skipped: pgbouncer is not installed)';

describe.skipIf(!hasPgBouncer)(`Behind PgBouncer in transaction mode${reason}`, () => {
  const database = useDatabase({ isMigrated: false });
  const bouncer = usePgBouncer(database);
  let pool: Pool;
  let trunkline: Trunkline<Pool>;

  beforeAll(async () => {
    pool = new Pool({ connectionString: bouncer.url, max: 12 });
    trunkline = new Trunkline(pool);
    await migrate(bouncer.url);
    await trunkline.createQueue({ queueName: 'work' });
    await trunkline.createQueue({
      queueName: 'ordered.fifo',
      attributes: { FifoQueue: true, ContentBasedDeduplication: true },
    });
    await pool.query('create table effects (name text not null)');
  });
  afterAll(() => pool?.end());

  it('consumers with transactional handlers do all work once', async () => {
    const bodies = Array.from({ length: 100 }, (_, index) => `message ${index}`);
    await trunkline.sendMessageBatch({
      queueName: 'work',
      entries: bodies.map((messageBody) => ({ messageBody })),
    });
    const consumers = [1, 2].map(() =>
      startConsumer({
        source: new DatabaseSource(trunkline, 'work'),
        concurrency: 5,
        transactionalHandler: async ({ body }, client) => {
          await client.query('insert into effects values ($1)', [body]);
        },
      }),
    );
    await expect
      .poll(() => trunkline.getQueueAttributes({ queueName: 'work' }), { timeout: 20_000 })
      .toMatchObject({
        ApproximateNumberOfMessages: '0',
        ApproximateNumberOfMessagesNotVisible: '0',
      });
    await Promise.all(consumers.map(({ consumer }) => consumer.stop({ timeoutMs: 5_000 })));
    const { rows } = await pool.query<{ name: string }>('select name from effects');
    expect(rows.map(({ name }) => name).toSorted()).toEqual(bodies.toSorted());
    expect(consumers.flatMap(({ errors }) => errors)).toEqual([]);
  });

  it('the server and the library take each others messages', async () => {
    const server = await openServer(bouncer.url, { directDatabaseUrl: database.url });
    const sqs = jsonClient(server.url);
    try {
      const QueueUrl = `${server.url}/000000000000/ordered.fifo`;
      const waiting = sqs.receiveMessage({
        QueueUrl,
        WaitTimeSeconds: 10,
        MaxNumberOfMessages: 10,
      });
      await trunkline.transaction(async (client) => {
        for (const messageBody of ['1', '2']) {
          await trunkline.sendMessage(
            { queueName: 'ordered.fifo', messageBody, messageGroupId: 'group' },
            client,
          );
        }
      });
      const { Messages = [] } = await waiting;
      expect(Messages.map(({ Body }) => Body)).toEqual(['1', '2']);
      await trunkline.deleteMessageBatch({
        queueName: 'ordered.fifo',
        receiptHandles: Messages.map(({ ReceiptHandle }) => String(ReceiptHandle)),
      });
      await sqs.sendMessage({ QueueUrl, MessageBody: '3', MessageGroupId: 'group' });
      const [last] = await trunkline.receiveMessages({
        queueName: 'ordered.fifo',
        waitTimeSeconds: 5,
      });
      expect(last?.body).toBe('3');
    } finally {
      sqs.destroy();
      await server.close();
    }
  });

  // Prepared statements get lost there, which no client may notice.
  it('the server answers many requests at once', async () => {
    const server = await openServer(bouncer.url, { directDatabaseUrl: database.url });
    const sqs = jsonClient(server.url);
    try {
      const queueUrls = await Promise.all(
        Array.from({ length: 8 }, async (_, index) => {
          const { QueueUrl } = await sqs.createQueue({ QueueName: `many-${index}` });
          return QueueUrl;
        }),
      );
      for (let round = 1; round <= 20; round += 1) {
        await Promise.all(
          queueUrls.map(async (QueueUrl) => {
            await sqs.sendMessage({ QueueUrl, MessageBody: `message ${round}` });
            const { Messages = [] } = await sqs.receiveMessage({ QueueUrl });
            expect(Messages.map(({ Body }) => Body)).toEqual([`message ${round}`]);
            await sqs.deleteMessage({ QueueUrl, ReceiptHandle: Messages[0]?.ReceiptHandle });
          }),
        );
      }
    } finally {
      sqs.destroy();
      await server.close();
    }
  });

  it('postgres.js works without prepared statements of its own', async () => {
    const sql = postgres(bouncer.url, { max: 5, prepare: false });
    const onPostgresJs = new Trunkline(fromPostgresJs(sql));
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        onPostgresJs.transaction((transaction) =>
          onPostgresJs.sendMessage(
            { queueName: 'work', messageBody: `message ${index}` },
            fromPostgresJs(transaction),
          ),
        ),
      ),
    );
    const received = await onPostgresJs.receiveMessages({
      queueName: 'work',
      maxNumberOfMessages: 100,
    });
    expect(received).toHaveLength(20);
    await sql.end();
  });
});
