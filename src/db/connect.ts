import pRetry, { AbortError } from 'p-retry';
import { Client, DatabaseError } from 'pg';

/** The database cannot be used. The message says why and what to do. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** Host and database only: user and parameters may hold a password. */
function describePlace(connectionString: string): string {
  const { host, pathname } = new URL(connectionString);
  return `${host || 'the local socket'}${pathname}`;
}

/** The failures that waiting does not mend. */
function explainRefusal(error: unknown, where: string): string | undefined {
  if (!(error instanceof DatabaseError)) {
    return undefined;
  }
  switch (error.code) {
    case '28P01':
    case '28000':
      return `The database at ${where} refused the login: ${error.message}. Check the user and password in DATABASE_URL.`;
    case '3D000':
      return `The database at ${where} does not exist: ${error.message}. Create it (createdb) or correct DATABASE_URL.`;
    case '53300':
      return `The database at ${where} has no connection left for this role: ${error.message}. Raise the limit, or lower TRUNKLINE_POOL_SIZE.`;
    default:
      return undefined;
  }
}

/**
 * Waits until the database takes connections, for at most `waitMs`.
 *
 * @throws {ConnectionError} when it stays unreachable or refuses the login
 */
export async function waitForDatabase(
  connectionString: string,
  waitMs: number,
  log: (message: string) => void,
  signal?: AbortSignal,
): Promise<void> {
  const where = describePlace(connectionString);
  const deadlineMs = performance.now() + waitMs;
  let hasSaidSo = false;
  await pRetry(
    async () => {
      const client = new Client({ connectionString, connectionTimeoutMillis: 5_000 });
      try {
        await client.connect();
      } catch (error) {
        const refusal = explainRefusal(error, where);
        if (refusal !== undefined) {
          throw new AbortError(new ConnectionError(refusal));
        }
        const reason = error instanceof Error ? error.message || String(error) : String(error);
        if (performance.now() > deadlineMs) {
          throw new AbortError(
            new ConnectionError(
              `The database at ${where} cannot be reached: ${reason}. Check that PostgreSQL runs there and that DATABASE_URL is right.`,
            ),
          );
        }
        if (!hasSaidSo) {
          hasSaidSo = true;
          log(
            `Waiting up to ${Math.round(waitMs / 1000)} s for the database at ${where}: ${reason}`,
          );
        }
        throw error;
      } finally {
        await client.end().catch(() => {});
      }
    },
    {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 250,
      maxTimeout: 2_000,
      ...(signal && { signal }),
    },
  );
}
