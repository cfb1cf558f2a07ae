import type { Pool, QueryResultRow } from 'pg';
import { isConflict } from './sqlstate.ts';

/** How often a statement that lost a deadlock is run again: losing twice in a row is rare already. */
const conflictRetries = 3;

/** Runs one statement as a transaction of its own; again when it lost a deadlock, having done nothing. */
export async function runStatement<Row extends QueryResultRow>(
  pool: Pool,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const result = await pool.query<Row>(text, values);
      return result.rows;
    } catch (error) {
      if (!isConflict(error) || attempt > conflictRetries) {
        throw error;
      }
    }
  }
}
