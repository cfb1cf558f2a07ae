import { sql } from 'drizzle-orm';
import { drizzle as drizzleOnPg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleOnPostgresJs } from 'drizzle-orm/postgres-js';
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely';
import type { PoolClient } from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type DatabaseLike,
  fromDrizzle,
  fromPostgresJs,
  type TransactionLike,
  Trunkline,
} from '../../src/client/index.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
const kysely = new Kysely<{ effects: { name: string } }>({
  // The pool is the test database's to end.
  dialect: new PostgresDialect({ pool: database.pool }),
  plugins: [new CamelCasePlugin()],
});
const postgresJs = postgres(database.url, { max: 3, onnotice: () => {} });
const drizzlePg = drizzleOnPg(database.pool);
const drizzlePostgresJs = drizzleOnPostgresJs(postgresJs);

afterAll(() => postgresJs.end());

/** One way to a database: the library on it, and a transaction of it that writes a row and sends a message. */
interface Door {
  name: string;
  trunkline: Trunkline<DatabaseLike>;
  /** Runs both in the caller's own transaction, and rolls it back if the work rejects. */
  inTransaction(
    work: (
      transaction: TransactionLike,
      insert: (name: string) => Promise<unknown>,
    ) => Promise<void>,
  ): Promise<unknown>;
}

const doors: Door[] = [
  {
    name: 'pg',
    trunkline: new Trunkline<DatabaseLike>(database.pool),
    async inTransaction(work) {
      const client: PoolClient = await database.pool.connect();
      try {
        await client.query('begin');
        await work(client, (name) => client.query('insert into effects values ($1)', [name]));
        await client.query('commit');
      } catch (error) {
        await client.query('rollback');
        throw error;
      } finally {
        client.release();
      }
    },
  },
  {
    name: 'Kysely',
    trunkline: new Trunkline<DatabaseLike>(kysely),
    inTransaction: (work) =>
      kysely
        .transaction()
        .execute((transaction) =>
          work(transaction, (name) => transaction.insertInto('effects').values({ name }).execute()),
        ),
  },
  {
    name: 'Drizzle on pg',
    trunkline: new Trunkline<DatabaseLike>(fromDrizzle(drizzlePg, sql)),
    inTransaction: (work) =>
      drizzlePg.transaction((transaction) =>
        work(fromDrizzle(transaction, sql), (name) =>
          transaction.execute(sql`insert into effects values (${name})`),
        ),
      ),
  },
  {
    name: 'Drizzle on postgres.js',
    trunkline: new Trunkline<DatabaseLike>(fromDrizzle(drizzlePostgresJs, sql)),
    inTransaction: (work) =>
      drizzlePostgresJs.transaction((transaction) =>
        work(fromDrizzle(transaction, sql), (name) =>
          transaction.execute(sql`insert into effects values (${name})`),
        ),
      ),
  },
  {
    name: 'postgres.js',
    trunkline: new Trunkline<DatabaseLike>(fromPostgresJs(postgresJs)),
    inTransaction: (work) =>
      postgresJs.begin((transaction) =>
        work(
          fromPostgresJs(transaction),
          async (name) => await transaction`insert into effects values (${name})`,
        ),
      ),
  },
];

beforeAll(async () => {
  await database.pool.query('create table effects (name text primary key)');
  await new Trunkline(database.pool).createQueue({ queueName: 'standard' });
  await new Trunkline(database.pool).createQueue({
    queueName: 'ordered.fifo',
    attributes: { FifoQueue: true },
  });
});

async function hasEffect(name: string): Promise<boolean> {
  const { rows } = await database.pool.query('select from effects where name = $1', [name]);
  return rows.length > 0;
}

describe.each(doors)('$name', ({ name, trunkline, inTransaction }) => {
  const queueName = 'standard';

  it('takes a message with all that it can have through its life', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const messageAttributes = {
      text: { dataType: 'String', stringValue: 'Grüße, "quoted" and \\ escaped' },
      number: { dataType: 'Number.int', stringValue: '42' },
      bytes: { dataType: 'Binary', binaryValue: bytes },
    };
    const [sent] = await trunkline.sendMessageBatch({
      queueName: 'ordered.fifo',
      entries: [
        {
          messageBody: `{"body": "of ${name} \\u0000 $1 ? 😀"}`,
          messageAttributes,
          messageGroupId: name.replaceAll(' ', '-'),
          messageDeduplicationId: `once-${name.replaceAll(' ', '-')}`,
          traceHeader: 'Root=1-5759e988-bd862e3fe1be46a994272793',
        },
      ],
    });
    const [message, ...others] = await trunkline.receiveMessages({
      queueName: 'ordered.fifo',
      maxNumberOfMessages: 10,
      visibilityTimeout: 60,
      receiveRequestAttemptId: `attempt-${name.replaceAll(' ', '-')}`,
    });
    expect(others).toEqual([]);
    expect(message).toEqual({
      messageId: sent?.messageId,
      receiptHandle: expect.any(String),
      body: `{"body": "of ${name} \\u0000 $1 ? 😀"}`,
      md5OfBody: sent?.md5OfMessageBody,
      messageAttributes,
      receiveCount: 1,
      sentAt: expect.any(Date),
      firstReceivedAt: expect.any(Date),
      senderId: '000000000000',
      messageGroupId: name.replaceAll(' ', '-'),
      messageDeduplicationId: `once-${name.replaceAll(' ', '-')}`,
      sequenceNumber: sent?.sequenceNumber,
      traceHeader: 'Root=1-5759e988-bd862e3fe1be46a994272793',
      deadLetterQueueSourceArn: undefined,
    });
    expect(Math.abs(Number(message?.sentAt) - Date.now())).toBeLessThan(60_000);
    const receiptHandle = String(message?.receiptHandle);
    const request = { queueName: 'ordered.fifo', receiptHandle };
    await trunkline.changeMessageVisibility({ ...request, visibilityTimeout: 120 });
    await trunkline.deleteMessage(request);
    expect(await trunkline.deleteMessageOrIgnore(request)).toBe(false);
  });

  it('sends in the transaction of the caller, and not at all when that rolls back', async () => {
    await inTransaction(async (transaction, insert) => {
      await insert(`${name} committed`);
      await trunkline.sendMessage({ queueName, messageBody: 'committed' }, transaction);
      // Nobody else sees it before the commit.
      expect(await trunkline.receiveMessages({ queueName })).toEqual([]);
    });
    const rolledBack = inTransaction(async (transaction, insert) => {
      await insert(`${name} rolled back`);
      await trunkline.sendMessage({ queueName, messageBody: 'rolled back' }, transaction);
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');

    expect(await hasEffect(`${name} committed`)).toBe(true);
    expect(await hasEffect(`${name} rolled back`)).toBe(false);
    const received = await trunkline.receiveMessages({ queueName, maxNumberOfMessages: 10 });
    expect(received.map(({ body }) => body)).toEqual(['committed']);
    await trunkline.deleteMessageBatch({
      queueName,
      receiptHandles: received.map(({ receiptHandle }) => receiptHandle),
    });
  });

  it('lets no effect commit with the deletion of a message that another receive has', async () => {
    await trunkline.sendMessage({ queueName, messageBody: 'mine?' });
    const receive = async () =>
      (await trunkline.receiveMessages({ queueName, visibilityTimeout: 30 }))[0]?.receiptHandle ??
      '';
    const staleHandle = await receive();
    await trunkline.changeMessageVisibility({
      queueName,
      receiptHandle: staleHandle,
      visibilityTimeout: 0,
    });
    const newHandle = await receive();

    const late = inTransaction(async (transaction, insert) => {
      await insert(`${name} late`);
      await trunkline.deleteMessage({ queueName, receiptHandle: staleHandle }, transaction);
    });
    await expect(late).rejects.toMatchObject({
      name: 'ReceiptHandleExpiredError',
      code: 'ReceiptHandleExpired',
      sqlState: 'TQ008',
    });
    expect(await hasEffect(`${name} late`)).toBe(false);
    await inTransaction(async (transaction, insert) => {
      await insert(`${name} in time`);
      await trunkline.deleteMessage({ queueName, receiptHandle: newHandle }, transaction);
    });
    expect(await hasEffect(`${name} in time`)).toBe(true);
  });

  it('opens transactions of the kind that it was constructed with', async () => {
    const sendAndFail = trunkline.transaction(async (_transaction, executor) => {
      await trunkline.sendMessage({ queueName, messageBody: 'never' }, executor);
      throw new Error('no');
    });
    await expect(sendAndFail).rejects.toThrow('no');
    expect(
      await trunkline.transaction(async (_transaction, executor) => {
        await trunkline.sendMessage({ queueName, messageBody: 'sent' }, executor);
        return ['result'];
      }),
    ).toEqual(['result']);
    const [message] = await trunkline.receiveMessages({ queueName });
    expect(message?.body).toBe('sent');
    await trunkline.deleteMessage({ queueName, receiptHandle: String(message?.receiptHandle) });
  });

  it('rejects a transaction with a failed statement that its work did not mind', async () => {
    const work = trunkline.transaction(async (_transaction, executor) => {
      await trunkline.sendMessage({ queueName, messageBody: 'lost' }, executor);
      await executor.query('select 1 / 0', []).catch(() => {});
    });
    await expect(work).rejects.toThrow();
    expect(await trunkline.receiveMessages({ queueName })).toEqual([]);
  });

  it('rejects with the code that SQS has for a refusal, and its text', async () => {
    await expect(
      trunkline.sendMessage({ queueName: 'nowhere', messageBody: 'body' }),
    ).rejects.toMatchObject({
      name: 'TrunklineError',
      code: 'QueueDoesNotExist',
      sqlState: 'TQ001',
      message: 'The specified queue does not exist.',
    });
  });
});
