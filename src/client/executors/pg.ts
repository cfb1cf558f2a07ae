import type { Connection, Executor } from '../executor.ts';

type ErrorListener = (error: Error) => void;

/** A connection of a `pg` pool, checked out. */
export interface PgClient {
  query(text: string, values?: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  on(event: 'error', listener: ErrorListener): unknown;
  removeListener(event: 'error', listener: ErrorListener): unknown;
  release(error?: Error | boolean): void;
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
      const lost: { error?: Error } = {};
      // The pool listens to idle clients only. A connection that breaks between two statements of the work
      // would end the process with an unhandled 'error' event. Its first error says why; others follow.
      const onError = (error: Error) => {
        lost.error ??= error;
      };
      client.on('error', onError);
      const executor: Executor = {
        async query(text, values) {
          if (lost.error !== undefined) {
            throw lost.error;
          }
          return await client.query(text, values);
        },
      };
      let isBroken = false;
      try {
        await client.query('begin');
        const result = await work(client, executor);
        await executor.query('commit', []);
        return result;
      } catch (error) {
        isBroken = await client.query('rollback').then(
          () => false,
          () => true,
        );
        throw error;
      } finally {
        // Either makes the pool drop the client. From here on it listens to it again.
        client.release(lost.error ?? isBroken);
        client.removeListener('error', onError);
      }
    },
  };
}
