import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { QueueId } from './queue-store.ts';

/**
 * Tells other servers that queues got messages, so that their waiting polls need not find out by asking.
 *
 * A committing NOTIFY takes a lock of the whole database, so none is part of a send. Each server sends at
 * most one in an interval, for all its queues together, on a connection of its own, and only while some
 * other server has waiting polls: servers with waiting polls announce that and repeat it.
 *
 * Losing a notification does no harm: waiting polls also look out by themselves.
 */
export interface WakeChannelOptions {
  /** A direct connection to PostgreSQL: LISTEN does not work through PgBouncer in transaction mode. */
  connectionString: string;
  onWake(queueIds: readonly QueueId[]): void;
  onError(error: unknown): void;
}

const channel = 'trunkline_wake';
const sendIntervalMs = 15;
const announceIntervalMs = 5_000;
/** Some announcements may come late or get lost. */
const announcementHoldsMs = 3 * announceIntervalMs;
const reconnectDelayMs = 1_000;

type Notice = { server: string; isWaiting: boolean } | { server: string; queueIds: QueueId[] };

export class WakeChannel {
  readonly #options: WakeChannelOptions;
  readonly #server = randomUUID();
  readonly #pending = new Set<QueueId>();
  /** When each other server last announced that polls wait there. */
  readonly #waitingServers = new Map<string, number>();
  #client: Client | undefined;
  #sendTimer: NodeJS.Timeout | undefined;
  #announceTimer: NodeJS.Timeout | undefined;
  #reconnectTimer: NodeJS.Timeout | undefined;
  #sent: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: WakeChannelOptions) {
    this.#options = options;
  }

  /** Connects, and again whenever the connection breaks. Resolves after the first attempt. */
  async open(): Promise<void> {
    const client = new Client({
      connectionString: this.#options.connectionString,
      application_name: 'trunkline wake channel',
      keepAlive: true,
    });
    client.on('error', () => {});
    client.on('notification', ({ payload }) => {
      try {
        this.#receive(payload ?? '');
      } catch {
        // Whoever may connect may notify. What cannot be read was not sent by a server.
      }
    });
    // Before anything that can fail, since a connection that never came about ends too.
    client.once('end', () => {
      this.#client = undefined;
      this.#reconnectLater();
    });
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
    } catch (error) {
      this.#options.onError(error);
      await client.end().catch(() => {});
      return;
    }
    if (this.#isClosed) {
      await client.end();
      return;
    }
    this.#client = client;
    if (this.#announceTimer !== undefined) {
      this.#announce();
    }
  }

  /** Queues got messages through this server. */
  wake(queueId: QueueId): void {
    if (!this.#isSomebodyWaiting()) {
      return;
    }
    this.#pending.add(queueId);
    this.#sendTimer ??= setTimeout(() => {
      this.#sendTimer = undefined;
      const queueIds = [...this.#pending];
      this.#pending.clear();
      this.#send({ server: this.#server, queueIds });
    }, sendIntervalMs);
  }

  /** Polls began or ceased to wait at this server. */
  setWaiting(isWaiting: boolean): void {
    clearInterval(this.#announceTimer);
    this.#announceTimer = undefined;
    if (isWaiting) {
      this.#announce();
      this.#announceTimer = setInterval(() => this.#announce(), announceIntervalMs);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#announceTimer);
    clearTimeout(this.#sendTimer);
    clearTimeout(this.#reconnectTimer);
    await this.#sent;
    await this.#client?.end();
  }

  #isSomebodyWaiting(): boolean {
    const oldest = performance.now() - announcementHoldsMs;
    for (const [server, announcedAtMs] of this.#waitingServers) {
      if (announcedAtMs < oldest) {
        this.#waitingServers.delete(server);
      }
    }
    return this.#waitingServers.size > 0;
  }

  #announce(): void {
    this.#send({ server: this.#server, isWaiting: true });
  }

  /** One after the other, as a connection does it. */
  #send(notice: Notice): void {
    this.#sent = this.#sent
      .then(() =>
        this.#client?.query('select pg_notify($1, $2)', [channel, JSON.stringify(notice)]),
      )
      .catch((error: unknown) => this.#options.onError(error));
  }

  #receive(payload: string): void {
    const notice: Notice = JSON.parse(payload);
    if (notice.server === this.#server) {
      return;
    }
    if ('queueIds' in notice) {
      this.#options.onWake(notice.queueIds);
    } else {
      this.#waitingServers.set(notice.server, performance.now());
    }
  }

  #reconnectLater(): void {
    if (!this.#isClosed) {
      this.#reconnectTimer = setTimeout(() => void this.open(), reconnectDelayMs).unref();
    }
  }
}
