import { setTimeout as sleep } from 'node:timers/promises';
import type { QueueId } from '../db/queue-store.ts';
import { isGroupBusy } from '../db/sqlstate.ts';

/** How long a send tries to get a group's lock before the client is told to try again. */
const patienceMs = 10_000;
const firstPauseMs = 2;
/** Each try costs the database a transaction, and there may be a try for each of many groups. */
const longestPauseMs = 200;

/** A send that can go in one statement with others, or by itself. */
export interface GroupSend<Result> {
  together(): Promise<Result>;
  alone(): Promise<Result>;
}

/**
 * Lets one send at a time have a message group, and keeps trying while a transaction elsewhere has it.
 *
 * The lock of a group is the database's, held until its transaction ends, and an application may keep one
 * open for minutes. A send that waited for it in the database would keep a connection, and ten such sends
 * the whole pool; so the database is asked without waiting, and the waiting is done here. A send that met a
 * busy group goes alone from then on, so that it fails no statement that carries the sends of others.
 */
export class GroupTurns {
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #busy = new Set<string>();

  /** @throws the send's error; one that isGroupBusy knows when a group stayed busy */
  async take<Result>(
    queueId: QueueId,
    groupIds: readonly string[],
    send: GroupSend<Result>,
  ): Promise<Result> {
    const keys = [...new Set(groupIds)].map((groupId) => `${queueId} ${groupId}`);
    const deadlineMs = performance.now() + patienceMs;
    const before = Promise.all(keys.map((key) => this.#last.get(key)));
    const turn = before.then(() => this.#sendPatiently(keys, send, deadlineMs));
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
          this.#busy.delete(key);
        }
      }
    }
  }

  async #sendPatiently<Result>(
    keys: readonly string[],
    send: GroupSend<Result>,
    deadlineMs: number,
  ): Promise<Result> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const isKnownBusy = keys.some((key) => this.#busy.has(key));
      try {
        const result = await (isKnownBusy ? send.alone() : send.together());
        for (const key of keys) {
          this.#busy.delete(key);
        }
        return result;
      } catch (error) {
        if (!isGroupBusy(error)) {
          throw error;
        }
        for (const key of keys) {
          this.#busy.add(key);
        }
        if (performance.now() > deadlineMs) {
          throw error;
        }
      }
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}
