import type { Connection, Executor } from '../executor.ts';
import { rowsOf } from './rows.ts';

/** The `sql` of postgres.js, or that of one of its transactions. */
interface PostgresJsExecutor {
  unsafe(text: string, values: never[]): PromiseLike<unknown>;
}

interface PostgresJsDatabase extends PostgresJsExecutor {
  /** Its overloads say what it takes, which TransactionOf reads. */
  begin(...work: never[]): Promise<unknown>;
}

/** The type of a transaction's `sql`: `begin` takes its work alone, or behind options. */
type TransactionOf<Database> = Database extends {
  begin: { (work: infer Work): unknown; (options: string, work: infer _Same): unknown };
}
  ? Work extends (transaction: infer Transaction) => unknown
    ? Transaction
    : never
  : never;

function executor(sql: PostgresJsExecutor): Executor {
  return {
    async query(text, values) {
      // The values are texts and nulls, which every configuration of postgres.js takes.
      return { rows: rowsOf(await sql.unsafe(text, [...values] as never[])) };
    },
  };
}

export function fromPostgresJs<Database extends PostgresJsDatabase>(
  sql: Database,
): Connection<TransactionOf<Database>>;
export function fromPostgresJs(sql: PostgresJsExecutor): Executor;
export function fromPostgresJs(
  sql: PostgresJsExecutor | PostgresJsDatabase,
): Executor | Connection<never> {
  if (!('begin' in sql)) {
    return executor(sql);
  }
  return {
    ...executor(sql),
    async transaction<Result>(work: (transaction: never, on: Executor) => Promise<Result>) {
      // `begin` unwraps arrays of promises in what its work returns, so the result goes around it.
      const kept: { result?: Promise<Result> } = {};
      const keepResult = async (transaction: PostgresJsExecutor) => {
        kept.result = work(transaction as never, executor(transaction));
        await kept.result;
      };
      await sql.begin(keepResult as never);
      if (kept.result === undefined) {
        throw new Error('postgres.js did not begin the transaction.');
      }
      return await kept.result;
    },
  };
}
