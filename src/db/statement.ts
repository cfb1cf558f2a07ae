import { createHash } from 'node:crypto';
import { DatabaseError, type Pool, type QueryResultRow } from 'pg';
import { isConflict } from './sqlstate.ts';

/** How often a statement that lost a deadlock is run again: losing twice in a row is rare already. */
const conflictRetries = 3;

/**
 * Pools behind a connection pooler that does not keep track of prepared statements, as PgBouncer before 1.21
 * in transaction mode, where a connection may find itself on another one's backend.
 */
const poolsWithoutNames = new WeakSet<Pool>();

const names = new Map<string, string>();

/** The same text has the same name everywhere, so a name that another connection prepared is as good. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `trunkline_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
    names.set(text, name);
  }
  return name;
}

/** SQLSTATEs "prepared statement does not exist" and "already exists". The statement did nothing then. */
function isLostName(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '26000' || error.code === '42P05');
}

/**
 * Runs one statement as a transaction of its own, prepared on each connection once; again when it lost a
 * deadlock, having done nothing.
 *
 * @param text one of a few, not made up for the occasion: each stays prepared on every connection
 */
export async function runStatement<Row extends QueryResultRow>(
  pool: Pool,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  for (let attempt = 1; ; attempt += 1) {
    const hasName = !poolsWithoutNames.has(pool);
    try {
      const result = await pool.query<Row>({
        text,
        values,
        ...(hasName && { name: nameOf(text) }),
      });
      return result.rows;
    } catch (error) {
      if (isLostName(error) && hasName) {
        poolsWithoutNames.add(pool);
      } else if (!isConflict(error) || attempt > conflictRetries) {
        throw error;
      }
    }
  }
}
