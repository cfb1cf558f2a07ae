import type { Client } from 'pg';

/**
 * Removes what is left of deleted queues now, so that the janitor does not during the next measurement. Waits for
 * the janitor's lock: while a server holds it, the function answers that nothing was left.
 */
export async function clearDeletedQueues(client: Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ removed: string }>(
      `select trunkline._clear_discarded_queues(100000) as removed
      from pg_advisory_xact_lock(hashtext('trunkline'), hashtext('clear discarded queues'))`,
    );
    if (rows[0]?.removed === '0') {
      return;
    }
  }
}
