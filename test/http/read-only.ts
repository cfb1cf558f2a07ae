import type { TestDatabase } from '../support/database.ts';

/** Makes a database read only, as a standby is, or writable again, for all connections of servers. */
export async function setReadOnly(database: TestDatabase, isReadOnly: boolean): Promise<void> {
  const client = await database.pool.connect();
  try {
    // Or this session could not undo it.
    await client.query('set default_transaction_read_only = off');
    const name = new URL(database.url).pathname.slice(1);
    await client.query(`alter database ${name} set default_transaction_read_only = ${isReadOnly}`);
    await client.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and application_name like 'trunkline%'
        and application_name <> 'trunkline test'`,
    );
  } finally {
    client.release();
  }
}
