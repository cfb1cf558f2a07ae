import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import { Pool, type PoolClient } from 'pg';
import postgres, { type TransactionSql } from 'postgres';
import { expectTypeOf, it } from 'vitest';
import {
  Consumer,
  DatabaseSource,
  type Executor,
  fromDrizzle,
  fromPostgresJs,
  Trunkline,
} from '../../src/client/index.ts';

/** Checked by the compiler: nothing here connects anywhere. */

interface Tables {
  orders: { id: string };
}

const pool = new Pool();
const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
const postgresJs = postgres();
const noRows: Executor = { query: async () => ({ rows: [] }) };

it('gives work a transaction of the type of the database', () => {
  type Work<Library> = Library extends {
    transaction(work: (transaction: infer Transaction, executor: Executor) => never): unknown;
  }
    ? Transaction
    : never;
  expectTypeOf<Work<Trunkline<Pool>>>().toEqualTypeOf<PoolClient>();
  const onKysely = new Trunkline(kysely);
  expectTypeOf<Work<typeof onKysely>>().toEqualTypeOf<Transaction<Tables>>();
  const onDrizzle = new Trunkline(fromDrizzle(drizzle(pool), sql));
  expectTypeOf<Work<typeof onDrizzle>>().toHaveProperty('rollback');
  const onPostgresJs = new Trunkline(fromPostgresJs(postgresJs));
  expectTypeOf<Work<typeof onPostgresJs>>().toEqualTypeOf<TransactionSql>();
  const onExecutor = new Trunkline(noRows);
  expectTypeOf<Work<typeof onExecutor>>().toEqualTypeOf<never>();
});

it('gives a transactional handler that transaction', () => {
  new Consumer({
    source: new DatabaseSource(new Trunkline(kysely), 'orders'),
    transactionalHandler: async (_message, transaction) => {
      expectTypeOf(transaction).toEqualTypeOf<Transaction<Tables>>();
    },
  });
  new Consumer({
    source: new DatabaseSource(new Trunkline(pool), 'orders'),
    transactionalHandler: async (_message, transaction) => {
      expectTypeOf(transaction).toEqualTypeOf<PoolClient>();
    },
  });
});
