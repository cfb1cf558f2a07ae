import { Kysely, PostgresDialect } from 'kysely';
import { Pool, type PoolClient } from 'pg';
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

function ignoreError(): void {}

/**
 * The pool listens to the errors of idle connections, and its own queries to theirs. Kysely checks connections
 * out and listens to none: one that breaks just after its query was answered would end the process with an
 * unhandled 'error' event. Whoever uses such a connection is told by the failure of the next query.
 */
function surviveLostConnections(pool: Pool): void {
  pool.on('acquire', (client: PoolClient) => {
    if (!client.listeners('error').includes(ignoreError)) {
      client.on('error', ignoreError);
    }
  });
}

/** Typed queries on the same pool. The pool stays the caller's to end. */
export function typedDatabase(pool: Pool): Kysely<Database> {
  surviveLostConnections(pool);
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}
