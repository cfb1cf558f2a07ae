/**
 * The ways to a database, reduced to what the library needs: run one statement and get its rows.
 *
 * A statement of this library takes texts and nulls only, and answers rows with one text column `result`.
 * Type parsers, camel-case plugins and array conventions of drivers therefore never change what comes back.
 */
export interface Executor {
  query(
    text: string,
    values: readonly unknown[],
  ): Promise<{ rows: readonly Record<string, unknown>[] }>;
}

/** An executor that can also open a transaction, and gives it to the work in the caller's own type. */
export interface Connection<Transaction> extends Executor {
  transaction<Result>(
    work: (transaction: Transaction, executor: Executor) => Promise<Result>,
  ): Promise<Result>;
}
