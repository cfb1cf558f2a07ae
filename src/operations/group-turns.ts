import { setTimeout as sleep } from 'node:timers/promises';
import type { QueueId } from '../db/queue-store.ts';
import { isGroupBusy } from '../db/sqlstate.ts';

/** How long a send tries to get a group's lock before the client is told to try again. */
const patienceMs = 10_000;
const firstPauseMs = 2;
const longestPauseMs = 50;

/**
 * Lets one send at a time have a message group, and keeps trying while a transaction elsewhere has it.
 *
 * The lock of a group is the database's, held until its transaction ends, and an application may keep one
 * open for minutes. A send that waited for it in the database would keep a connection, and ten such sends
 * the whole pool; so the database is asked without waiting, and the waiting is done here.
 */
export class GroupTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** @throws the work's error; the database's TQ006 when a group stayed busy */
  async take<Result>(
    queueId: QueueId,
    groupIds: readonly string[],
    send: () => Promise<Result>,
  ): Promise<Result> {
    const keys = [...new Set(groupIds)].map((groupId) => `${queueId} ${groupId}`);
    const before = Promise.all(keys.map((key) => this.#last.get(key)));
    const turn = before.then(() => sendPatiently(send));
    const settled = turn.catch(() => {});
    for (const key of keys) {
      this.#last.set(key, settled);
    }
    try {
      return await turn;
    } finally {
      for (const key of keys) {
        if (this.#last.get(key) === settled) {
          this.#last.delete(key);
        }
      }
    }
  }
}

async function sendPatiently<Result>(send: () => Promise<Result>): Promise<Result> {
  const deadlineMs = performance.now() + patienceMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await send();
    } catch (error) {
      if (!isGroupBusy(error) || performance.now() > deadlineMs) {
        throw error;
      }
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}
