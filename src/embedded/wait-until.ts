import { setTimeout as sleep } from 'node:timers/promises';

/** Asks `isDone` every `intervalMs` until it is true. False when `limitMs` passed first. */
export async function waitUntil(
  isDone: () => Promise<boolean>,
  { limitMs, intervalMs = 50 }: { limitMs: number; intervalMs?: number },
): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (!(await isDone())) {
    if (performance.now() >= deadline) return false;
    await sleep(intervalMs);
  }
  return true;
}
