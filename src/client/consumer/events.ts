import type { Message } from '../message.ts';

/** What a consumer was doing when something failed that is not a handler. */
export type FailedCall = 'receive' | 'heartbeat' | 'backoff' | 'delete' | 'release';

/** Events of a consumer, with the arguments of their listeners. */
export interface ConsumerEvents {
  /** Messages were received and are about to be handled. */
  received: [messages: readonly Message[]];
  /** A receive waited its time and found nothing. */
  empty: [];
  /** A handler resolved. */
  handled: [message: Message, details: { durationMs: number }];
  /** A handler rejected, or its transaction could not commit. The message is visible again after the delay. */
  failed: [message: Message, error: unknown, details: { retryInSeconds: number }];
  /** A handled message is gone from the queue. */
  deleted: [message: Message];
  /** A message was given back without being handled to its end: it is visible again at once. */
  released: [message: Message];
  /** A message was no longer the consumer's when its handler ended. Another receive may have it. */
  stale: [message: Message];
  /** A call failed; the consumer goes on. Without a listener it becomes a warning of the process. */
  error: [error: unknown, details: { during: FailedCall }];
  /** The consumer has stopped; `abandoned` handlers ignored their signal and are still running. */
  stopped: [details: { abandoned: number }];
}
