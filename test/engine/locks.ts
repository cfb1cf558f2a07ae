import { expect } from 'vitest';
import type { Connection } from './calls.ts';

/** Waits until a statement with this text in it is kept waiting by another transaction. */
export async function waitUntilBlocked(connection: Connection, text: string): Promise<void> {
  await expect
    .poll(
      async () => {
        const { rows } = await connection.query(
          `select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
          [`%${text}%`],
        );
        return rows.length;
      },
      { timeout: 10_000, interval: 20 },
    )
    .toBeGreaterThan(0);
}
