import type { Client } from 'pg';
import { expect } from 'vitest';
import { openSession } from '../engine/calls.ts';
import type { TestDatabase } from '../support/database.ts';

/** A connection of its own, for a named party in an interleaving. Closed after the test. */
export interface Session {
  client: Client;
  begin(isolation?: 'read committed' | 'repeatable read' | 'serializable'): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  /** Resolves once another transaction keeps this session's statement waiting. */
  isKeptWaiting(): Promise<void>;
}

export async function openParty(database: TestDatabase): Promise<Session> {
  const client = await openSession(database);
  // A wait that no test means to have ends the test and not the patience of its reader.
  await client.query(`set lock_timeout = '15s'`);
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return {
    client,
    async begin(isolation = 'read committed') {
      await client.query(`begin isolation level ${isolation}`);
    },
    async commit() {
      await client.query('commit');
    },
    async rollback() {
      await client.query('rollback');
    },
    async isKeptWaiting() {
      await expect
        .poll(
          async () => {
            const { rows: blockers } = await database.pool.query<{ count: number }>(
              'select cardinality(pg_blocking_pids($1)) as count',
              [rows[0]?.pid],
            );
            return blockers[0]?.count;
          },
          { timeout: 5_000, interval: 10 },
        )
        .toBeGreaterThan(0);
    },
  };
}
