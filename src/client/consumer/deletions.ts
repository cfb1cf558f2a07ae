import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from '../message.ts';
import type { MessageSource } from './source.ts';

/** Most messages that one statement deletes. */
const batchSize = 500;
/** While the answer to one batch is on its way, the database can be at work on another. */
const batchesAtOnce = 2;
/** A delete that fails means that the message is handled again, so it is worth a few tries. */
const retryPausesMs = [100, 500, 2_000];

interface Waiting {
  message: Message;
  resolve(isDeleted: boolean): void;
  reject(error: unknown): void;
}

/**
 * Deletes handled messages, many at a time where many end at the same time: while two batches are under way,
 * the next one gathers. A single message is never kept waiting for company.
 */
export class Deletions {
  readonly #source: Pick<MessageSource, 'delete'>;
  readonly #waiting: Waiting[] = [];
  #running = 0;

  constructor(source: Pick<MessageSource, 'delete'>) {
    this.#source = source;
  }

  /** Resolves to false when the message was no longer the consumer's. */
  delete(message: Message): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ message, resolve, reject });
      if (this.#running < batchesAtOnce) {
        this.#running += 1;
        void this.#run();
      }
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchSize);
      try {
        const outcomes = await this.#deleteWithRetries(batch.map(({ message }) => message));
        for (const [index, { resolve }] of batch.entries()) {
          resolve(outcomes[index] === true);
        }
      } catch (error) {
        for (const { reject } of batch) {
          reject(error);
        }
      }
    }
    this.#running -= 1;
  }

  async #deleteWithRetries(messages: readonly Message[]): Promise<boolean[]> {
    for (const pauseMs of retryPausesMs) {
      try {
        return await this.#source.delete(messages);
      } catch {
        await sleep(pauseMs * (0.5 + Math.random()));
      }
    }
    return await this.#source.delete(messages);
  }
}
