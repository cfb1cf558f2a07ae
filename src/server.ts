import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import type { Config } from './config.ts';
import { openPool, typedDatabase } from './db/database.ts';
import { FusedMessages } from './db/fused-messages.ts';
import { MessageStore } from './db/message-store.ts';
import { isSchemaCurrent } from './db/migrate.ts';
import { QueueStore } from './db/queue-store.ts';
import { WakeChannel } from './db/wake-channel.ts';
import { buildApp } from './http/app.ts';
import { Maintenance } from './maintenance/service.ts';
import {
  clearDiscardedService,
  expireService,
  forgetFifoHistoryService,
  rescanService,
  settleService,
} from './maintenance/services.ts';
import { statisticsService } from './maintenance/statistics.ts';
import { GroupTurns } from './operations/group-turns.ts';
import { QueueDirectory } from './operations/queue-directory.ts';
import { WaitingPolls } from './operations/waiting-polls.ts';

export interface Server {
  /** Where it listens, such as http://127.0.0.1:9324. */
  url: string;
  app: FastifyInstance;
  /** Answers waiting polls empty, finishes the work in hand, and closes everything in reverse. */
  close(): Promise<void>;
}

/** Opens a server on a migrated database. */
export async function startServer(config: Config, connectionString: string): Promise<Server> {
  const pool: Pool = openPool({
    connectionString,
    poolSize: config.poolSize,
    onIdleError: (error) => app.log.warn({ err: error }, 'An idle database connection broke.'),
  });
  const store = new QueueStore(pool, typedDatabase(pool));
  const wakeChannel = new WakeChannel({
    connectionString: config.directDatabaseUrl ?? connectionString,
    onWake(queueIds) {
      for (const queueId of queueIds) {
        polls.hint(queueId);
      }
    },
    onError: (error) => app.log.warn({ err: error }, 'The wake channel is down; it reconnects.'),
  });
  const polls = new WaitingPolls({
    lookOut: (queueIds) => store.lookOut(queueIds),
    onLookOutError: (error) => app.log.warn({ err: error }, 'Looking out for messages failed.'),
    onWaitingChange: (isWaiting) => wakeChannel.setWaiting(isWaiting),
  });
  const app = buildApp({
    services: {
      store,
      messages: new FusedMessages(new MessageStore(pool)),
      queues: new QueueDirectory(store, config),
      polls,
      groupTurns: new GroupTurns(),
      inFlightLimits: config.inFlightLimits,
      announceMessages(queueId) {
        polls.hint(queueId);
        wakeChannel.wake(queueId);
      },
      accountId: config.accountId,
      region: config.region,
      deletedNameCooldownSeconds: config.deletedNameCooldownSeconds,
    },
    baseUrl: config.baseUrl,
    logLevel: config.logLevel,
    async checkHealth() {
      if (!(await isSchemaCurrent(pool))) {
        throw new Error(
          'The database schema is not up to date. Restart this server to migrate it.',
        );
      }
    },
  });
  const maintenance = new Maintenance(
    [
      settleService(pool),
      expireService(pool),
      forgetFifoHistoryService(pool),
      clearDiscardedService(pool),
      statisticsService(pool),
      rescanService(pool, (queueId) =>
        app.log.warn({ queueId }, 'A low-water mark had passed a message and was lowered.'),
      ),
    ],
    (service, error) => app.log.warn({ err: error, service }, 'A maintenance run failed.'),
  );

  await store.saveSettings(config);
  await wakeChannel.open();
  const url = await app.listen({ host: config.host, port: config.port });
  return {
    url,
    app,
    async close() {
      polls.close();
      await app.close();
      await maintenance.stop();
      await wakeChannel.close();
      await pool.end();
    },
  };
}
