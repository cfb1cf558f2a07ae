import type { Queue, QueueStore } from '../db/queue-store.ts';
import { isQueueGone } from '../db/sqlstate.ts';
import { queueDoesNotExist } from '../sqs/errors.ts';
import { addressFromUrl, isPossible, type QueueAddress } from '../sqs/queue-address.ts';

/**
 * How long a looked-up queue is used without asking again. Its id needs no limit, since every SQL function
 * checks it; this bounds how long settings changed through another server go unnoticed here.
 */
const freshForMs = 1_000;

/** Together with the limits of their lengths, keeps made-up queue names and URLs from filling the memory. */
const mostRemembered = 10_000;

interface Remembered {
  queue: Queue;
  untilMs: number;
}

/** Finds queues by address, remembering them for a moment. */
export class QueueDirectory {
  readonly #store: QueueStore;
  readonly #server: { accountId: string; region: string };
  readonly #remembered = new Map<string, Remembered>();
  /** By queue URL, since parsing one takes longer than all else that a request does with it. */
  readonly #addresses = new Map<string, QueueAddress>();

  constructor(store: QueueStore, server: { accountId: string; region: string }) {
    this.#store = store;
    this.#server = server;
  }

  /** @throws {SqsError} InvalidAddress */
  addressFromUrl(url: string): QueueAddress | undefined {
    const known = this.#addresses.get(url);
    if (known !== undefined) {
      return known;
    }
    const address = addressFromUrl(url, this.#server);
    if (address !== undefined && isPossible(address)) {
      if (this.#addresses.size >= mostRemembered) {
        this.#addresses.clear();
      }
      this.#addresses.set(url, address);
    }
    return address;
  }

  /**
   * Runs work on a queue. When the queue turns out purged or deleted in between, looks it up anew and runs
   * the work once more: nothing has happened then, because every function checks the id first.
   *
   * @throws {SqsError} QueueDoesNotExist
   */
  async withQueue<Result>(
    address: QueueAddress | undefined,
    work: (queue: Queue) => Promise<Result>,
  ): Promise<Result> {
    if (address === undefined) {
      throw queueDoesNotExist();
    }
    try {
      return await work(this.#recall(address) ?? (await this.#find(address)));
    } catch (error) {
      if (!isQueueGone(error)) {
        throw error;
      }
      this.forget(address);
      return await work(await this.#find(address));
    }
  }

  forget(address: QueueAddress): void {
    this.#remembered.delete(key(address));
  }

  #recall(address: QueueAddress): Queue | undefined {
    const remembered = this.#remembered.get(key(address));
    return remembered !== undefined && remembered.untilMs > performance.now()
      ? remembered.queue
      : undefined;
  }

  async #find(address: QueueAddress): Promise<Queue> {
    const queue = isPossible(address) ? await this.#store.findQueue(address) : undefined;
    if (queue === undefined) {
      this.forget(address);
      throw queueDoesNotExist();
    }
    if (this.#remembered.size >= mostRemembered) {
      this.#remembered.clear();
    }
    this.#remembered.set(key(address), { queue, untilMs: performance.now() + freshForMs });
    return queue;
  }
}

function key({ accountId, name }: QueueAddress): string {
  return `${accountId}/${name}`;
}
