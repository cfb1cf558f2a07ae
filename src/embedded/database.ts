import pg from 'pg';
import { type Connection, connectionString, DATABASE_NAME } from './connection-file.ts';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts';

const CONNECT_LIMIT_MS = 30_000;

/** Creates the database unless it exists, which it does not after initdb or a start killed before this. */
export async function ensureDatabase(
  connection: Connection,
  connectionFile: string,
): Promise<void> {
  const client = new pg.Client({
    connectionString: connectionString(connection, 'postgres'),
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
  });
  try {
    await client.connect();
    const found = await client.query('select from pg_database where datname = $1', [DATABASE_NAME]);
    if (found.rowCount === 0) await client.query(`create database ${DATABASE_NAME}`);
  } catch (error) {
    if (errorCode(error) !== '28P01') throw error;
    throw new EmbeddedPostgresError(
      `PostgreSQL does not accept the password in ${connectionFile}. Delete that file and start again: a ` +
        'new password is then set, and the data stays.',
      { cause: error },
    );
  } finally {
    await client.end();
  }
}
