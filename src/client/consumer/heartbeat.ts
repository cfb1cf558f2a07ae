import type { Delivery } from './delivery.ts';
import type { MessageSource } from './source.ts';

export interface HeartbeatOptions {
  source: Pick<MessageSource, 'changeVisibility'>;
  /** Seconds that a message is hidden with each extension. */
  visibilityTimeout: number;
  intervalMs: number;
  onError(error: unknown): void;
}

/**
 * Keeps messages in hand hidden from others while their handlers run, up to the 12 hours of SQS.
 *
 * A message that is handled within an interval costs nothing. One that turns out to be lost aborts its
 * handler, since somebody else may be working on it.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #deliveries = new Set<Delivery>();
  #timer: NodeJS.Timeout | undefined;
  #isBeating = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  add(delivery: Delivery): void {
    this.#deliveries.add(delivery);
    this.#schedule();
  }

  remove(delivery: Delivery): void {
    this.#deliveries.delete(delivery);
    if (this.#deliveries.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
  }

  /** Twice in an interval, so that a message waits for its extension one and a half intervals at most. */
  #schedule(): void {
    if (!this.#isBeating && this.#deliveries.size > 0) {
      this.#timer ??= setTimeout(() => void this.#beat(), this.#options.intervalMs / 2);
    }
  }

  async #beat(): Promise<void> {
    const { source, visibilityTimeout, intervalMs, onError } = this.#options;
    const nowMs = performance.now();
    this.#timer = undefined;
    this.#isBeating = true;
    this.#abortLost(nowMs);
    const due = [...this.#deliveries]
      .filter(({ extendedAtMs }) => nowMs - extendedAtMs >= intervalMs)
      .map((delivery) => ({
        delivery,
        message: delivery.message,
        visibilityTimeout: delivery.extensionSeconds(nowMs, visibilityTimeout),
      }))
      .filter((extension) => extension.visibilityTimeout > 0);
    try {
      const outcomes = due.length > 0 ? await source.changeVisibility(due) : [];
      for (const [index, { delivery, visibilityTimeout: seconds }] of due.entries()) {
        if (outcomes[index] === true) {
          delivery.extended(nowMs, seconds);
        } else if (this.#deliveries.has(delivery)) {
          this.#deliveries.delete(delivery);
          delivery.abort('message lost');
        }
      }
    } catch (error) {
      // The next beat tries again; what cannot be extended in time is found lost there.
      onError(error);
    }
    this.#isBeating = false;
    this.#schedule();
  }

  #abortLost(nowMs: number): void {
    for (const delivery of this.#deliveries) {
      if (delivery.isLost(nowMs)) {
        this.#deliveries.delete(delivery);
        delivery.abort('message lost');
      }
    }
  }
}
