import { limits } from '../../sqs/limits.ts';
import type { Message } from '../message.ts';
import { requireBetween } from '../number-range.ts';
import { type Backoff, exponentialBackoff } from './backoff.ts';
import type { MessageSource, TransactionalSource } from './source.ts';

export interface HandlerContext {
  /**
   * Aborts when the message is no longer hidden from others, and when the consumer stops and its time for that
   * is over. The reason is a {@link HandlerAbortedError}.
   */
  signal: AbortSignal;
}

/** Resolves when the message is done with: it is deleted then. Rejects when it failed: it comes again. */
export type Handler = (message: Message, context: HandlerContext) => Promise<unknown>;

/** As {@link Handler}; what it does in the transaction commits together with the deletion, or not at all. */
export type TransactionalHandler<Transaction> = (
  message: Message,
  transaction: Transaction,
  context: HandlerContext,
) => Promise<unknown>;

interface Settings {
  /** Messages at work at the same time, at most; on a FIFO queue, message groups. 10 by default. */
  concurrency?: number;
  /** Messages in one receive, at most; 10 by default. */
  batchSize?: number;
  /** For how long a message is hidden at a time, in seconds; 30 by default. */
  visibilityTimeout?: number;
  /** How often the visibility timeout of a message at work is renewed; a third of it by default. */
  heartbeatIntervalMs?: number;
  /** How long one receive waits for messages, 1 to 20; 20 by default. */
  waitTimeSeconds?: number;
  /** When a failed message is visible again; {@link exponentialBackoff} by default. */
  backoff?: Backoff;
  /** How long a stop waits for handlers before it aborts them; 30 000 by default. */
  stopTimeoutMs?: number;
  /** Signals of the process on which to stop, such as SIGTERM; none by default. */
  stopOnSignals?: readonly NodeJS.Signals[];
}

interface HandlerOptions extends Settings {
  source: MessageSource;
  handler: Handler;
  transactionalHandler?: never;
}

interface TransactionalOptions<Transaction> extends Settings {
  source: TransactionalSource<Transaction>;
  transactionalHandler: TransactionalHandler<Transaction>;
  handler?: never;
}

export type ConsumerOptions<Transaction = never> =
  | HandlerOptions
  | TransactionalOptions<Transaction>;

export type ConsumerSettings = Required<Settings>;

/** @throws {RangeError} naming the option that is out of its range */
export function toSettings(options: Settings & { source: MessageSource }): ConsumerSettings {
  const visibilityTimeout = requireBetween(
    'visibilityTimeout',
    options.visibilityTimeout ?? 30,
    1,
    limits.visibilityTimeoutSeconds.maximum,
  );
  const visibilityTimeoutMs = visibilityTimeout * 1000;
  return {
    concurrency: requireBetween('concurrency', options.concurrency ?? 10, 1, 100_000),
    batchSize: requireBetween('batchSize', options.batchSize ?? 10, 1, options.source.receiveLimit),
    visibilityTimeout,
    // More than half would leave no second chance for a beat that fails.
    heartbeatIntervalMs: requireBetween(
      'heartbeatIntervalMs',
      options.heartbeatIntervalMs ?? visibilityTimeoutMs / 3,
      100,
      visibilityTimeoutMs / 2,
    ),
    waitTimeSeconds: requireBetween(
      'waitTimeSeconds',
      options.waitTimeSeconds ?? limits.receiveWaitSeconds.maximum,
      1,
      limits.receiveWaitSeconds.maximum,
    ),
    backoff: options.backoff ?? exponentialBackoff(),
    stopTimeoutMs: requireBetween('stopTimeoutMs', options.stopTimeoutMs ?? 30_000, 0, 86_400_000),
    stopOnSignals: options.stopOnSignals ?? [],
  };
}
