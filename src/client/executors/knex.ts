import type { Connection, Executor } from '../executor.ts';
import { splitAtPlaceholders } from './placeholders.ts';
import { rowsOf } from './rows.ts';

/** A Knex instance for PostgreSQL, or one of its transactions. */
interface KnexExecutor {
  raw(text: string, bindings: never[]): PromiseLike<unknown>;
}

interface KnexDatabase<Transaction> extends KnexExecutor {
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
}

function executor(knex: KnexExecutor): Executor {
  return {
    async query(text, values) {
      const { parts, ordered } = splitAtPlaceholders(text, values);
      return { rows: rowsOf(await knex.raw(parts.join('?'), ordered as never[])) };
    },
  };
}

export function fromKnex<Transaction extends KnexExecutor>(
  knex: KnexDatabase<Transaction>,
): Connection<Transaction> {
  return {
    ...executor(knex),
    transaction: (work) =>
      knex.transaction((transaction) => work(transaction, executor(transaction))),
  };
}
