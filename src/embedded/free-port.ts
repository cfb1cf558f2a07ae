import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

/**
 * Below the ports that systems give to outgoing connections (Linux from 32768, macOS from 49152): a client
 * that retries such a port while nothing listens there may be given the same port itself, connects to
 * itself, and so keeps a restarting PostgreSQL from listening.
 */
const LOWEST_PORT = 15_432;
const HIGHEST_PORT = 32_000;

const MAX_ATTEMPTS = 100;

/** A port of 127.0.0.1 that is free now: the preferred one when it is. */
export async function findFreePort(preferred: number | undefined): Promise<number> {
  if (preferred !== undefined && preferred > 0 && (await isFree(preferred))) return preferred;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT);
    if (await isFree(port)) return port;
  }
  throw new EmbeddedPostgresError(
    `No free port found on 127.0.0.1 between ${LOWEST_PORT} and ${HIGHEST_PORT} for PostgreSQL.`,
  );
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}
