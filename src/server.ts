import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import type { Config } from './config.ts';
import { openPool } from './db/database.ts';
import { reasonAgainstUse } from './db/migrate.ts';
import { buildApp } from './http/app.ts';
import { QueueService } from './queue-service.ts';

export interface Server {
  /** Where it listens, such as http://127.0.0.1:9324. */
  url: string;
  app: FastifyInstance;
  /** Answers waiting polls empty, finishes the work in hand, and closes everything in reverse. */
  close(): Promise<void>;
}

/** Opens a server on a migrated database. */
export async function startServer(config: Config, connectionString: string): Promise<Server> {
  let isClosing = false;
  const pool: Pool = openPool({
    connectionString,
    poolSize: config.poolSize,
    onIdleError(error) {
      if (!isClosing) {
        app.log.warn({ err: error }, 'An idle database connection broke.');
      }
    },
  });
  const service = new QueueService(pool, {
    ...config,
    directDatabaseUrl: config.directDatabaseUrl ?? connectionString,
    warn: (details, message) => app.log.warn(details, message),
  });
  const app = buildApp({
    services: service.services,
    baseUrl: config.baseUrl,
    logLevel: config.logLevel,
    async checkHealth() {
      const reason = await reasonAgainstUse(pool);
      if (reason !== undefined) {
        throw new Error(reason);
      }
    },
    endWaits: () => service.endWaits(),
  });

  async function close(): Promise<void> {
    isClosing = true;
    await app.close();
    await service.close();
    await pool.end();
  }

  try {
    await service.open();
    const url = await app.listen({ host: config.host, port: config.port });
    return { url, app, close };
  } catch (error) {
    await close();
    throw error;
  }
}
