import { Kysely, PostgresDialect } from 'kysely';
import { Pool, type PoolClient } from 'pg';
import postgres from 'postgres';
import { beforeAll, describe, expect, it } from 'vitest';
import { DatabaseSource, fromPostgresJs, Trunkline } from '../../src/client/index.ts';
import { useDatabase } from '../support/database.ts';
import { gate, startConsumer } from './consuming.ts';

const database = useDatabase();
const queueName = 'work';
const trunkline = new Trunkline(database.pool);
const source = new DatabaseSource(trunkline, queueName);

beforeAll(async () => {
  await trunkline.createQueue({ queueName });
  await database.pool.query('create table effects (name text not null)');
});

async function effects(): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string }>('select name from effects');
  await database.pool.query('delete from effects');
  return rows.map(({ name }) => name);
}

async function messagesLeft(): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(*)::integer as count from trunkline.messages',
  );
  return rows[0]?.count ?? 0;
}

/** Ends the process of a connection that is not in a query, and waits until the client has heard. */
async function terminate(client: PoolClient): Promise<void> {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  // Not `once` of node:events, which listens to 'error' as well and so would hide that nobody else does.
  const heard = new Promise<void>((resolve) => client.once('end', () => resolve()));
  await database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  await heard;
}

describe('A transaction of the library', () => {
  it('rejects when its connection is terminated between two statements, and drops it', async () => {
    const pool = new Pool({ connectionString: database.url, max: 1 });
    pool.on('error', () => {});
    const work = new Trunkline(pool).transaction(terminate);
    await expect(work).rejects.toMatchObject({ code: '57P01' });
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });
});

describe('A transactional handler', () => {
  it('commits its effects together with the deletion', async () => {
    await trunkline.sendMessage({ queueName, messageBody: 'once' });
    const { history, saw } = startConsumer({
      source,
      transactionalHandler: async ({ body }, client) => {
        await client.query('insert into effects values ($1)', [body]);
      },
    });
    await saw('deleted once');
    expect(history).toEqual(['handled once', 'deleted once']);
    expect(await effects()).toEqual(['once']);
    expect(await messagesLeft()).toBe(0);
  });

  it('leaves no effect when it fails, and is called again', async () => {
    await trunkline.sendMessage({ queueName, messageBody: 'retried' });
    const { history, saw } = startConsumer({
      source,
      transactionalHandler: async ({ receiveCount }, client) => {
        await client.query('insert into effects values ($1)', [`attempt ${receiveCount}`]);
        if (receiveCount === 1) {
          throw new Error('not yet');
        }
      },
    });
    await saw('deleted retried');
    expect(history).toEqual(['failed retried', 'handled retried', 'deleted retried']);
    expect(await effects()).toEqual(['attempt 2']);
  });

  it('leaves no effect when the commit fails', async () => {
    await database.pool.query(
      'create table taken (name text, unique (name) deferrable initially deferred)',
    );
    await database.pool.query(`insert into taken values ('name')`);
    await trunkline.sendMessage({ queueName, messageBody: 'late refusal' });
    const { history, saw } = startConsumer({
      source,
      transactionalHandler: async ({ receiveCount }, client) => {
        await client.query('insert into effects values ($1)', [`attempt ${receiveCount}`]);
        if (receiveCount === 1) {
          await client.query(`insert into taken values ('name')`);
        }
      },
    });
    await saw('deleted late refusal');
    expect(history).toEqual([
      'failed late refusal',
      'handled late refusal',
      'deleted late refusal',
    ]);
    expect(await effects()).toEqual(['attempt 2']);
  });

  it('leaves no effect when another receive has the message by then', async () => {
    await trunkline.sendMessage({ queueName, messageBody: 'slow' });
    const { saw, history } = startConsumer({
      source,
      transactionalHandler: async ({ receiptHandle, receiveCount }, client) => {
        await client.query('insert into effects values ($1)', [`receive ${receiveCount}`]);
        if (receiveCount === 1) {
          // As if its visibility timeout had passed and another worker had received it.
          await trunkline.changeMessageVisibility({
            queueName,
            receiptHandle,
            visibilityTimeout: 0,
          });
          const [again] = await trunkline.receiveMessages({ queueName, visibilityTimeout: 1 });
          expect(again?.body).toBe('slow');
        }
      },
    });
    await saw('stale slow');
    await saw('deleted slow');
    expect(history).toEqual(['stale slow', 'handled slow', 'deleted slow']);
    expect(await effects()).toEqual(['receive 3']);
  });

  it('rolls back what it does after it was abandoned', async () => {
    await trunkline.sendMessage({ queueName, messageBody: 'abandoned' });
    const begun = gate();
    const finish = gate();
    const { consumer } = startConsumer({
      source,
      transactionalHandler: async (_message, client) => {
        await client.query(`insert into effects values ('abandoned')`);
        begun.open();
        await finish.opened;
      },
    });
    await begun.opened;
    await consumer.stop();
    finish.open();
    // The handler's connection returns to the pool when its transaction has ended.
    await expect.poll(() => database.pool.totalCount - database.pool.idleCount).toBe(0);
    expect(await effects()).toEqual([]);
    const [message] = await trunkline.receiveMessages({ queueName });
    expect(message).toMatchObject({ body: 'abandoned', receiveCount: 2 });
    await trunkline.deleteMessage({ queueName, receiptHandle: String(message?.receiptHandle) });
  });

  it('fails when its connection is terminated between two statements, and is called again', async () => {
    const pool = new Pool({ connectionString: database.url, max: 3 });
    pool.on('error', () => {});
    const queues = new Trunkline(pool);
    await queues.sendMessage({ queueName, messageBody: 'cut off' });
    const failures: unknown[] = [];
    const { consumer, saw, history } = startConsumer({
      source: new DatabaseSource(queues, queueName),
      transactionalHandler: async ({ receiveCount }, client) => {
        await client.query('insert into effects values ($1)', [`attempt ${receiveCount}`]);
        if (receiveCount === 1) {
          await terminate(client);
        }
      },
    });
    consumer.on('failed', (_message, error) => failures.push(error));
    await saw('deleted cut off');
    await consumer.stop();
    await pool.end();
    expect(history).toEqual(['failed cut off', 'handled cut off', 'deleted cut off']);
    expect(failures).toMatchObject([{ code: '57P01' }]);
    expect(await effects()).toEqual(['attempt 2']);
  });

  it('gets a transaction of Kysely or postgres.js where the library was constructed with that', async () => {
    const kysely = new Kysely<{ effects: { name: string } }>({
      dialect: new PostgresDialect({ pool: database.pool }),
    });
    await trunkline.sendMessage({ queueName, messageBody: 'by Kysely' });
    const first = startConsumer({
      source: new DatabaseSource(new Trunkline(kysely), queueName),
      transactionalHandler: async ({ body }, transaction) => {
        await transaction.insertInto('effects').values({ name: body }).execute();
      },
    });
    await first.saw('deleted by Kysely');
    await first.consumer.stop();

    const sql = postgres(database.url, { max: 3 });
    await trunkline.sendMessage({ queueName, messageBody: 'by postgres.js' });
    const second = startConsumer({
      source: new DatabaseSource(new Trunkline(fromPostgresJs(sql)), queueName),
      transactionalHandler: async ({ body }, transaction) => {
        await transaction`insert into effects values (${body})`;
      },
    });
    await second.saw('deleted by postgres.js');
    await second.consumer.stop();
    await sql.end();
    expect(await effects()).toEqual(['by Kysely', 'by postgres.js']);
  });
});
