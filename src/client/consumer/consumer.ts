import { EventEmitter } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { ReceiptHandleExpiredError } from '../error.ts';
import type { Message } from '../message.ts';
import { Deletions } from './deletions.ts';
import { Delivery } from './delivery.ts';
import { endsWithin } from './ends-within.ts';
import type { ConsumerEvents, FailedCall } from './events.ts';
import { HandlerFailure, type Handling, toHandling } from './handling.ts';
import { Heartbeat } from './heartbeat.ts';
import { Lanes, type TakeLater } from './lanes.ts';
import { type ConsumerOptions, type ConsumerSettings, toSettings } from './options.ts';
import type { MessageSource, VisibilityRequest } from './source.ts';

/** How long handlers have to end after their signals aborted. */
const abortGraceMs = 1_000;
/** After a receive that failed; doubled with each failure in a row. */
const firstErrorPauseMs = 100;
const longestErrorPauseMs = 5_000;

/**
 * Receives messages of a queue and hands each to a handler, until it is stopped.
 *
 * A message whose handler resolves is deleted; one whose handler rejects comes again after a growing delay. On
 * a FIFO queue the messages of a group are handled one after another, and when one fails, those after it wait
 * behind it.
 */
export class Consumer<Transaction = never> extends EventEmitter<ConsumerEvents> {
  readonly #source: MessageSource;
  readonly #settings: ConsumerSettings;
  readonly #handling: Handling;
  readonly #heartbeat: Heartbeat;
  readonly #deletions: Deletions;
  readonly #lanes = new Lanes((delivery, takeLater) => this.#process(delivery, takeLater));
  readonly #inHand = new Set<Delivery>();
  readonly #stopping = new AbortController();
  readonly #onSignal = () => void this.stop();
  #receiving: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  /**
   * @throws {RangeError} naming an option that is out of its range
   * @throws {TypeError} without a handler
   */
  constructor(options: ConsumerOptions<Transaction>) {
    super();
    this.#source = options.source;
    this.#settings = toSettings(options);
    this.#handling = toHandling(options, (delivery) => this.#heartbeat.remove(delivery));
    this.#heartbeat = new Heartbeat({
      source: options.source,
      visibilityTimeout: this.#settings.visibilityTimeout,
      intervalMs: this.#settings.heartbeatIntervalMs,
      onError: (error) => this.#report(error, 'heartbeat'),
    });
    this.#deletions = new Deletions(options.source);
  }

  /** Begins to receive. */
  start(): void {
    if (this.#receiving === undefined && this.#stopped === undefined) {
      for (const signal of this.#settings.stopOnSignals) {
        process.on(signal, this.#onSignal);
      }
      this.#receiving = this.#receive();
    }
  }

  /** Begins to receive, and resolves when the consumer has stopped. */
  async run(): Promise<void> {
    const stopped = new Promise((resolve) => this.once('stopped', resolve));
    this.start();
    await (this.#stopped ?? stopped);
  }

  /**
   * Receives no more, gives back what was not begun, and waits for handlers to end. After `timeoutMs` their
   * signals abort; a second later, those that still run are left to themselves and their messages given back.
   */
  stop({ timeoutMs = this.#settings.stopTimeoutMs } = {}): Promise<void> {
    this.#stopped ??= this.#stop(timeoutMs);
    return this.#stopped;
  }

  async #stop(timeoutMs: number): Promise<void> {
    this.#stopping.abort();
    for (const signal of this.#settings.stopOnSignals) {
      process.off(signal, this.#onSignal);
    }
    const ended = Promise.all([
      this.#receiving,
      this.#release(this.#lanes.takeWaiting()),
      this.#handlersEnd(),
    ]);
    if (!(await endsWithin(ended, timeoutMs))) {
      for (const delivery of this.#inHand) {
        delivery.abort('consumer stopped');
      }
      await endsWithin(ended, abortGraceMs);
    }
    const abandoned = [...this.#inHand];
    for (const delivery of abandoned) {
      delivery.abandon();
    }
    await this.#release(abandoned);
    this.#tell('stopped', { abandoned: abandoned.length });
  }

  async #handlersEnd(): Promise<void> {
    while (this.#lanes.size > 0) {
      await this.#lanes.change();
    }
  }

  async #receive(): Promise<void> {
    const { signal } = this.#stopping;
    const { concurrency, batchSize, visibilityTimeout, waitTimeSeconds } = this.#settings;
    let failures = 0;
    while (!signal.aborted) {
      const free = concurrency - this.#lanes.size;
      if (free <= 0) {
        await this.#lanes.change();
        // Messages are deleted many at a time, so more lanes become free in the same moment.
        await setImmediate();
        continue;
      }
      try {
        const askedAtMs = performance.now();
        const messages = await this.#source.receive({
          maxNumberOfMessages: Math.min(batchSize, free),
          visibilityTimeout,
          waitTimeSeconds,
          signal,
        });
        failures = 0;
        await this.#dispatch(messages, askedAtMs);
      } catch (error) {
        this.#report(error, 'receive');
        const pauseMs = Math.min(firstErrorPauseMs * 2 ** failures, longestErrorPauseMs);
        failures += 1;
        await sleep(pauseMs * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => {});
      }
    }
  }

  async #dispatch(messages: readonly Message[], askedAtMs: number): Promise<void> {
    if (messages.length === 0) {
      this.#tell('empty');
      return;
    }
    const { visibilityTimeout } = this.#settings;
    // They were hidden at some moment of the wait. Its end less a tenth leaves room for a slow answer, and
    // the database has the last word when the message is deleted.
    const receivedAtMs = Math.max(askedAtMs, performance.now() - (visibilityTimeout * 1000) / 10);
    const deliveries = messages.map(
      (message) => new Delivery(message, receivedAtMs, visibilityTimeout),
    );
    if (this.#stopping.signal.aborted) {
      await this.#release(deliveries);
      return;
    }
    this.#tell('received', messages);
    for (const delivery of deliveries) {
      this.#inHand.add(delivery);
      this.#heartbeat.add(delivery);
      this.#lanes.add(delivery);
    }
  }

  /** One message, from its handler to its end. Never rejects. */
  async #process(delivery: Delivery, takeLater: TakeLater): Promise<void> {
    const startedAtMs = performance.now();
    try {
      await this.#handling.run(delivery);
      if (!delivery.isAbandoned) {
        this.#tell('handled', delivery.message, { durationMs: performance.now() - startedAtMs });
        await this.#finish(delivery, takeLater);
      }
    } catch (error) {
      if (!delivery.isAbandoned) {
        await this.#giveUp(delivery, error, takeLater);
      }
    } finally {
      this.#forget(delivery);
    }
  }

  async #finish(delivery: Delivery, takeLater: TakeLater): Promise<void> {
    this.#heartbeat.remove(delivery);
    let isDeleted = this.#handling.isTransactional;
    try {
      isDeleted ||= await this.#deletions.delete(delivery.message);
      this.#tell(isDeleted ? 'deleted' : 'stale', delivery.message);
    } catch (error) {
      this.#report(error, 'delete');
    }
    if (!isDeleted) {
      // It comes again, so those behind it in its group must not come first.
      await this.#release(takeLater());
    }
  }

  async #giveUp(delivery: Delivery, thrown: unknown, takeLater: TakeLater): Promise<void> {
    this.#heartbeat.remove(delivery);
    const { message } = delivery;
    const later = takeLater();
    const isStale =
      thrown instanceof ReceiptHandleExpiredError ||
      delivery.abortReason === 'message lost' ||
      delivery.isLost(performance.now());
    if (isStale) {
      // Its handle could still change the visibility of a message that somebody else has by now.
      this.#tell('stale', message);
      await this.#release(later);
    } else if (delivery.abortReason === 'consumer stopped') {
      await this.#release([delivery, ...later]);
    } else {
      const error = thrown instanceof HandlerFailure ? thrown.cause : thrown;
      const seconds = this.#retrySeconds(delivery, error);
      this.#tell('failed', message, error, { retryInSeconds: seconds });
      await this.#giveBack([delivery, ...later], [seconds, ...later.map(() => 0)]);
      this.#announceReleased(later);
    }
  }

  #retrySeconds(delivery: Delivery, error: unknown): number {
    const { backoff, visibilityTimeout } = this.#settings;
    let wanted = visibilityTimeout;
    try {
      const seconds = Math.ceil(backoff(delivery.message.receiveCount, error));
      if (Number.isNaN(seconds)) {
        throw new RangeError('backoff must answer a number of seconds, and answered NaN.');
      }
      wanted = seconds;
    } catch (backoffError) {
      this.#report(backoffError, 'backoff');
    }
    return Math.max(0, delivery.extensionSeconds(performance.now(), wanted));
  }

  async #release(deliveries: readonly Delivery[]): Promise<void> {
    await this.#giveBack(
      deliveries,
      deliveries.map(() => 0),
    );
    this.#announceReleased(deliveries);
  }

  /** In one call, so that on a FIFO queue no message of a group gets ahead of an earlier one. */
  async #giveBack(deliveries: readonly Delivery[], seconds: readonly number[]): Promise<void> {
    const changes: VisibilityRequest[] = [];
    for (const [index, delivery] of deliveries.entries()) {
      this.#forget(delivery);
      changes.push({ message: delivery.message, visibilityTimeout: seconds[index] ?? 0 });
    }
    try {
      if (changes.length > 0) {
        await this.#source.changeVisibility(changes);
      }
    } catch (error) {
      // They come again when their visibility timeout is over.
      this.#report(error, 'release');
    }
  }

  #announceReleased(deliveries: readonly Delivery[]): void {
    for (const { message } of deliveries) {
      this.#tell('released', message);
    }
  }

  #forget(delivery: Delivery): void {
    this.#heartbeat.remove(delivery);
    this.#inHand.delete(delivery);
  }

  /** A listener that throws is a bug of its own, and must not pass for a failure of the message. */
  #tell<Event extends keyof ConsumerEvents>(event: Event, ...details: ConsumerEvents[Event]): void {
    try {
      super.emit<keyof ConsumerEvents>(event, ...details);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  #report(error: unknown, during: FailedCall): void {
    if (this.listenerCount('error') > 0) {
      this.#tell('error', error, { during });
    } else {
      process.emitWarning(`A consumer's ${during} failed: ${error}`, 'TrunklineConsumer');
    }
  }
}
