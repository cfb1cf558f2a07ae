import type { Connection, Executor } from '../executor.ts';

/** A compiled raw query of Kysely, as `CompiledQuery.raw` makes it. */
interface RawQuery {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  readonly query: {
    readonly kind: 'RawNode';
    readonly sqlFragments: readonly string[];
    readonly parameters: readonly never[];
  };
  readonly queryId: { readonly queryId: string };
}

/** A `Kysely` instance or one of its transactions. */
export interface KyselyExecutor {
  executeQuery(query: RawQuery): Promise<{ rows: unknown[] }>;
}

/** A `Kysely` instance that is not a transaction. */
export interface KyselyDatabase<Transaction> extends KyselyExecutor {
  transaction(): {
    execute<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  };
}

let lastQuery = 0;

export function fromKysely(kysely: KyselyExecutor): Executor {
  return {
    async query(sql, parameters) {
      lastQuery += 1;
      const { rows } = await kysely.executeQuery({
        sql,
        parameters,
        query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
        queryId: { queryId: `trunkline-${lastQuery}` },
      });
      return { rows: rows.map((row) => ({ ...Object(row) })) };
    },
  };
}

export function fromKyselyDatabase<Transaction extends KyselyExecutor>(
  kysely: KyselyDatabase<Transaction>,
): Connection<Transaction> {
  return {
    ...fromKysely(kysely),
    transaction: (work) =>
      kysely.transaction().execute((transaction) => work(transaction, fromKysely(transaction))),
  };
}
