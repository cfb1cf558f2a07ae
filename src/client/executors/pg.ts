import type { Connection, Executor } from '../executor.ts';

/** A connection of a `pg` pool, checked out. */
export interface PgClient {
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; command?: string }>;
  release(error?: boolean): void;
}

/** A `pg` pool, the caller's to open and to end. */
export interface PgPool extends Executor {
  connect(): Promise<PgClient>;
}

export function fromPgPool(pool: PgPool): Connection<PgClient> {
  return {
    query: (text, values) => pool.query(text, values),
    async transaction(work) {
      const client = await pool.connect();
      let isBroken = true;
      try {
        await client.query('begin');
        const result = await work(client, client);
        const { command } = await client.query('commit');
        isBroken = false;
        // PostgreSQL answers a commit after a failed statement with ROLLBACK, and no error.
        if (command === 'ROLLBACK') {
          throw new Error(
            'The transaction was rolled back because one of its statements had failed.',
          );
        }
        return result;
      } catch (error) {
        if (isBroken) {
          isBroken = await client.query('rollback').then(
            () => false,
            () => true,
          );
        }
        throw error;
      } finally {
        client.release(isBroken);
      }
    },
  };
}
