import { setTimeout as sleep } from 'node:timers/promises';

/** Whether work ends in time. Waits no longer than that, and leaves no timer behind. */
export async function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const timer = new AbortController();
  const timeout = sleep(timeoutMs, false, { signal: timer.signal }).catch(() => false);
  const hasEnded = await Promise.race([work.then(() => true), timeout]);
  timer.abort();
  return hasEnded;
}
