import type { Pool } from 'pg';
import { typedDatabase } from './db/database.ts';
import { FusedMessages } from './db/fused-messages.ts';
import { MessageStore } from './db/message-store.ts';
import { QueueStore } from './db/queue-store.ts';
import { WakeChannel } from './db/wake-channel.ts';
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
import type { Services } from './operations/operation.ts';
import { QueueDirectory } from './operations/queue-directory.ts';
import { WaitingPolls } from './operations/waiting-polls.ts';
import { WorkInHand } from './operations/work-in-hand.ts';

export interface QueueServiceOptions {
  accountId: string;
  region: string;
  inFlightLimits: { standard: number; fifo: number };
  deletedNameCooldownSeconds: number;
  /** For LISTEN; undefined: sends through other servers are found by looking out. */
  directDatabaseUrl: string | undefined;
  /** Told of failures that the service survives. */
  warn(details: object, message: string): void;
}

/** All that answers requests for queues on a migrated database, behind whatever HTTP server. */
export class QueueService {
  readonly services: Services;
  readonly #store: QueueStore;
  readonly #polls: WaitingPolls;
  readonly #wakeChannel: WakeChannel | undefined;
  readonly #maintenance: Maintenance;
  readonly #options: QueueServiceOptions;

  /** @param pool the caller's to end, after the service is closed */
  constructor(pool: Pool, options: QueueServiceOptions) {
    const { warn, directDatabaseUrl } = options;
    const store = new QueueStore(pool, typedDatabase(pool));
    const polls: WaitingPolls = new WaitingPolls({
      lookOut: (queueIds) => store.lookOut(queueIds),
      onLookOutError: (error) => warn({ err: error }, 'Looking out for messages failed.'),
      onWaitingChange: (isWaiting) => wakeChannel?.setWaiting(isWaiting),
    });
    const wakeChannel =
      directDatabaseUrl === undefined
        ? undefined
        : new WakeChannel({
            connectionString: directDatabaseUrl,
            onWake(queueIds) {
              for (const queueId of queueIds) {
                polls.hint(queueId);
              }
            },
            onError: (error) => warn({ err: error }, 'The wake channel is down; it reconnects.'),
          });
    this.services = {
      store,
      messages: new FusedMessages(new MessageStore(pool)),
      queues: new QueueDirectory(store, options),
      polls,
      groupTurns: new GroupTurns(),
      workInHand: new WorkInHand(),
      inFlightLimits: options.inFlightLimits,
      announceMessages(queueId) {
        polls.hint(queueId);
        wakeChannel?.wake(queueId);
      },
      accountId: options.accountId,
      region: options.region,
      deletedNameCooldownSeconds: options.deletedNameCooldownSeconds,
    };
    this.#maintenance = new Maintenance(
      [
        settleService(pool),
        expireService(pool),
        forgetFifoHistoryService(pool),
        clearDiscardedService(pool),
        statisticsService(pool),
        rescanService(pool, (queueId) =>
          warn({ queueId }, 'A low-water mark had passed a message and was lowered.'),
        ),
      ],
      (service, error) => warn({ err: error, service }, 'A maintenance run failed.'),
    );
    this.#store = store;
    this.#polls = polls;
    this.#wakeChannel = wakeChannel;
    this.#options = options;
  }

  async open(): Promise<void> {
    await this.#store.saveSettings(this.#options);
    await this.#wakeChannel?.open();
  }

  /** Answers waiting polls empty, so that a server that closes need not wait for them. */
  endWaits(): void {
    this.#polls.close();
  }

  /** To be called when no request can come any more. Finishes the work in hand first. */
  async close(): Promise<void> {
    await this.services.workInHand.finish();
    await this.#maintenance.stop();
    await this.#wakeChannel?.close();
  }
}
