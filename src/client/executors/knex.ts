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
      try {
        return { rows: rowsOf(await knex.raw(parts.join('?'), ordered as never[])) };
      } catch (error) {
        throw withoutStatement(error, parts);
      }
    },
  };
}

/** Knex puts the statement, with its placeholders numbered anew, in front of the database's message. */
function withoutStatement(error: unknown, parts: readonly string[]): unknown {
  const statement = parts.reduce((before, part, index) => `${before}$${index}${part}`);
  if (error instanceof Error) {
    error.message = error.message.replace(`${statement} - `, '');
  }
  return error;
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
