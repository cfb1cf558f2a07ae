import { setTimeout as sleep } from 'node:timers/promises';
import { TrunklineError } from './error.ts';

export interface LongPollOptions {
  waitTimeSeconds: number;
  /** Longest pause between two looks, in milliseconds. */
  maximumPauseMs: number;
  signal: AbortSignal | undefined;
}

/** A message that comes right after the first look is found at once; an idle queue is asked ever less often. */
const firstPauseMs = 20;
const pauseGrowth = 1.6;

export const defaultMaximumPauseMs = 500;

/**
 * Looks again and again until something is found or the time is up. Between two looks it holds nothing, so a
 * thousand waiting programs need no connection.
 *
 * Pauses grow, and vary at random by a quarter so that many programs do not look in step.
 */
export async function pollUntilFound<Item>(
  look: () => Promise<Item[]>,
  { waitTimeSeconds, maximumPauseMs, signal }: LongPollOptions,
): Promise<Item[]> {
  const deadlineMs = performance.now() + waitTimeSeconds * 1000;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * pauseGrowth, maximumPauseMs)) {
    const found = await look().catch(emptyWhenOverLimit);
    const leftMs = deadlineMs - performance.now();
    if (found.length > 0 || leftMs <= 0 || signal?.aborted) {
      return found;
    }
    const variedMs = pauseMs * (0.75 + Math.random() / 2);
    await sleep(Math.min(variedMs, leftMs), undefined, { ...(signal && { signal }) }).catch(
      () => {},
    );
    if (signal?.aborted) {
      return [];
    }
  }
}

/** A long poll of a queue with too many messages in flight gets no error, on AWS too. */
function emptyWhenOverLimit(error: unknown): never[] {
  if (error instanceof TrunklineError && error.code === 'OverLimit') {
    return [];
  }
  throw error;
}
