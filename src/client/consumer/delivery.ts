import { limits } from '../../sqs/limits.ts';
import type { Message } from '../message.ts';

/** A message counts as hidden for at most 12 hours after its receive, however often that is extended. */
const longestVisibilitySeconds = limits.visibilityTimeoutSeconds.maximum;

/** Why the signal of a handler aborted. */
export class HandlerAbortedError extends Error {
  override readonly name = 'HandlerAbortedError';
  readonly reason: 'message lost' | 'consumer stopped';

  constructor(reason: HandlerAbortedError['reason']) {
    super(
      reason === 'message lost'
        ? 'The message is no longer hidden from others, who may have it by now.'
        : 'The consumer was stopped and its time for finishing is over.',
    );
    this.reason = reason;
  }
}

/**
 * A message in hand, from its receive to its end. Times are on performance.now()'s scale and begin before the
 * statement that hid the message, so that the consumer never takes it for hidden longer than it is.
 */
export class Delivery {
  readonly message: Message;
  readonly #receivedAtMs: number;
  readonly #controller = new AbortController();
  #extendedAtMs: number;
  #hiddenUntilMs: number;
  #isAbandoned = false;

  constructor(message: Message, receivedAtMs: number, visibilityTimeout: number) {
    this.message = message;
    this.#receivedAtMs = receivedAtMs;
    this.#extendedAtMs = receivedAtMs;
    this.#hiddenUntilMs = receivedAtMs + visibilityTimeout * 1000;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get abortReason(): HandlerAbortedError['reason'] | undefined {
    return this.signal.reason instanceof HandlerAbortedError
      ? this.signal.reason.reason
      : undefined;
  }

  get extendedAtMs(): number {
    return this.#extendedAtMs;
  }

  /** Whether others may have the message by now. */
  isLost(nowMs: number): boolean {
    return nowMs >= this.#hiddenUntilMs;
  }

  /** By how many seconds it can be hidden from now, at most the given; 0 or less when its 12 hours are over. */
  extensionSeconds(nowMs: number, visibilityTimeout: number): number {
    const heldSeconds = Math.ceil((nowMs - this.#receivedAtMs) / 1000);
    return Math.min(visibilityTimeout, longestVisibilitySeconds - heldSeconds);
  }

  extended(nowMs: number, seconds: number): void {
    this.#extendedAtMs = nowMs;
    this.#hiddenUntilMs = nowMs + seconds * 1000;
  }

  /** Nobody waits for its handler any more: whatever that does or throws has no effect on the message. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  abandon(): void {
    this.#isAbandoned = true;
  }

  abort(reason: HandlerAbortedError['reason']): void {
    this.#controller.abort(new HandlerAbortedError(reason));
  }
}
