import type { Pool, PoolClient } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Connection,
  type Executor,
  fromKnex,
  fromPrisma,
  fromTypeOrm,
  Trunkline,
} from '../../src/client/index.ts';
import { useDatabase } from '../support/database.ts';

/** Adapters for query builders that are not installed here, each on a stand-in with the calls it makes. */

const database = useDatabase();

type Queryable = Pool | PoolClient;

async function inTransaction<Result>(work: (client: PoolClient) => Promise<Result>) {
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

/** Takes question marks, answers what pg answers, and puts the statement in front of errors. */
const knexOn = (on: Queryable) => ({
  async raw(text: string, bindings: readonly unknown[]) {
    let last = 0;
    const statement = text.replace(/\?/g, () => {
      last += 1;
      return `$${last}`;
    });
    try {
      return await on.query(statement, [...bindings]);
    } catch (error) {
      throw Object.assign(error as Error, {
        message: `${statement} - ${(error as Error).message}`,
      });
    }
  },
});
const knex = (on: Queryable) => ({
  ...knexOn(on),
  transaction: <Result>(work: (transaction: ReturnType<typeof knexOn>) => Promise<Result>) =>
    inTransaction((client) => work(knexOn(client))),
});

/** Takes values one by one, answers rows, and has a code of its own on errors. */
const prismaOn = (on: Queryable) => ({
  async $queryRawUnsafe(text: string, ...values: unknown[]) {
    try {
      return (await on.query(text, values)).rows;
    } catch (error) {
      const { code, message } = error as Error & { code: string };
      throw Object.assign(new Error('Raw query failed.'), {
        code: 'P2010',
        meta: { code, message },
      });
    }
  },
});
const prisma = () => ({
  ...prismaOn(database.pool),
  $transaction: <Result>(work: (transaction: ReturnType<typeof prismaOn>) => Promise<Result>) =>
    inTransaction((client) => work(prismaOn(client))),
});

/** Answers rows, and wraps errors. */
const managerOn = (on: Queryable) => ({
  async query(text: string, values?: unknown[]): Promise<unknown> {
    try {
      return (await on.query(text, values)).rows;
    } catch (error) {
      throw Object.assign(new Error('QueryFailedError'), { driverError: error });
    }
  },
});
const dataSource = () => ({
  ...managerOn(database.pool),
  manager: managerOn(database.pool),
  transaction: (work: (manager: ReturnType<typeof managerOn>) => Promise<unknown>) =>
    inTransaction((client) => work(managerOn(client))),
});

const adapters: {
  name: string;
  connect(): Connection<unknown>;
  /** Of a transaction that the caller opened. */
  executor(client: PoolClient): Executor;
}[] = [
  {
    name: 'Knex',
    connect: () => fromKnex(knex(database.pool)) as Connection<unknown>,
    executor: (client) => fromKnex(knex(client)),
  },
  {
    name: 'Prisma',
    connect: () => fromPrisma(prisma()) as Connection<unknown>,
    executor: (client) => fromPrisma(prismaOn(client)),
  },
  {
    name: 'TypeORM',
    connect: () => fromTypeOrm(dataSource()) as Connection<unknown>,
    executor: (client) => fromTypeOrm(managerOn(client)),
  },
];

beforeAll(() => new Trunkline(database.pool).createQueue({ queueName: 'queue' }));

describe.each(adapters)('The adapter for $name', ({ connect, executor }) => {
  const queueName = 'queue';

  it('sends, receives and deletes', async () => {
    const trunkline = new Trunkline(connect());
    const messageAttributes = { name: { dataType: 'String', stringValue: '$1 ? :name $2' } };
    await trunkline.sendMessage({ queueName, messageBody: '$2 ? $1', messageAttributes });
    const [message] = await trunkline.receiveMessages({ queueName });
    expect(message).toMatchObject({ body: '$2 ? $1', messageAttributes });
    await trunkline.deleteMessage({ queueName, receiptHandle: String(message?.receiptHandle) });
  });

  it('takes part in transactions, of the library and of the caller', async () => {
    const trunkline = new Trunkline(connect());
    const fails = async (_transaction: unknown, on: Executor) => {
      await trunkline.sendMessage({ queueName, messageBody: 'never' }, on);
      throw new Error('no');
    };
    await expect(trunkline.transaction(fails)).rejects.toThrow('no');
    await expect(inTransaction((client) => fails(client, executor(client)))).rejects.toThrow('no');
    expect(await trunkline.receiveMessages({ queueName })).toEqual([]);
  });

  it('finds the code and the text of a refusal', async () => {
    await expect(
      new Trunkline(connect()).sendMessage({ queueName: 'nowhere', messageBody: 'body' }),
    ).rejects.toMatchObject({
      code: 'QueueDoesNotExist',
      message: 'The specified queue does not exist.',
    });
  });
});
