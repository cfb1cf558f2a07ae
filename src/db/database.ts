import { Kysely, PostgresDialect } from 'kysely';
import { Pool } from 'pg';
import type { Database } from './schema.ts';

export interface DatabaseOptions {
  connectionString: string;
  /** Connections at most. A request waits for a free one; a waiting poll holds none. */
  poolSize: number;
  /** Told of connections that broke while idle; the pool replaces them by itself. */
  onIdleError: (error: Error) => void;
}

/** How long a request waits for a connection before it is turned away with a retryable error. */
const acquireTimeoutMs = 5_000;

export function openPool({ connectionString, poolSize, onIdleError }: DatabaseOptions): Pool {
  const pool = new Pool({
    connectionString,
    max: poolSize,
    connectionTimeoutMillis: acquireTimeoutMs,
    application_name: 'trunkline',
  });
  pool.on('error', onIdleError);
  return pool;
}

/** Typed queries on the same pool. The pool stays the caller's to end. */
export function typedDatabase(pool: Pool): Kysely<Database> {
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}
