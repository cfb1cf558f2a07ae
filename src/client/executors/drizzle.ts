import type { Connection, Executor } from '../executor.ts';
import { splitAtPlaceholders } from './placeholders.ts';
import { rowsOf } from './rows.ts';

/** A Drizzle database or transaction, on any of its PostgreSQL drivers. */
interface DrizzleExecutor<Query> {
  execute(query: Query): PromiseLike<unknown>;
}

interface DrizzleDatabase<Query, Transaction> extends DrizzleExecutor<Query> {
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
}

/** @param sql Drizzle's own, so that this package needs no Drizzle */
export function fromDrizzle<Query, Transaction extends DrizzleExecutor<Query>>(
  database: DrizzleDatabase<Query, Transaction>,
  sql: (strings: TemplateStringsArray, ...values: unknown[]) => Query,
): Connection<Transaction> {
  const executor = (on: DrizzleExecutor<Query>): Executor => ({
    async query(text, values) {
      const { parts, ordered } = splitAtPlaceholders(text, values);
      const strings = Object.assign([...parts], { raw: parts });
      return { rows: rowsOf(await on.execute(sql(strings, ...ordered))) };
    },
  });
  return {
    ...executor(database),
    transaction: (work) =>
      database.transaction((transaction) => work(transaction, executor(transaction))),
  };
}
