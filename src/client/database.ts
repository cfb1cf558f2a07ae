import type { Connection, Executor } from './executor.ts';
import {
  fromKysely,
  fromKyselyDatabase,
  type KyselyDatabase,
  type KyselyExecutor,
} from './executors/kysely.ts';
import { fromPgPool, type PgPool } from './executors/pg.ts';

/** What takes part in a call: a `pg` client, a Kysely transaction, or what an adapter made of another. */
export type TransactionLike = Executor | KyselyExecutor;

/** What the library can be constructed with. */
export type DatabaseLike = TransactionLike | PgPool | KyselyDatabase<never> | Connection<never>;

/** The type in which a database gives its transactions to work that runs in them. */
export type TransactionOf<Database> = Database extends {
  transaction(): { execute(work: infer Work): unknown };
}
  ? Work extends (transaction: infer Transaction) => unknown
    ? Transaction
    : never
  : Database extends {
        transaction(
          work: (transaction: infer Transaction, executor: Executor) => Promise<unknown>,
        ): unknown;
      }
    ? Transaction
    : // Two signatures, as `Pool.connect` of pg has: it also takes a callback.
      Database extends { connect: { (): Promise<infer Client>; (callback: never): void } }
      ? Client
      : never;

export function toExecutor(given: TransactionLike): Executor {
  return 'executeQuery' in given ? fromKysely(given) : given;
}

/** A connection that can open transactions, if the database is of a kind that can. */
export function toConnection(database: DatabaseLike): Executor | Connection<unknown> {
  if ('executeQuery' in database) {
    return 'transaction' in database ? fromKyselyDatabase(database) : fromKysely(database);
  }
  if ('transaction' in database) {
    return database;
  }
  return isPool(database) ? fromPgPool(database) : database;
}

/** A client has `connect` too; only a pool counts its clients. */
function isPool(database: Executor | PgPool): database is PgPool {
  return 'connect' in database && 'totalCount' in database;
}
