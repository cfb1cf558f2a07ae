import { setTimeout as sleep } from 'node:timers/promises';
import type { QueueId } from '../db/queue-store.ts';
import { isGroupBusy } from '../db/sqlstate.ts';

/** How long a send tries to get a group's lock before the client is told to try again. */
const patienceMs = 10_000;
const firstPauseMs = 2;
const longestPauseMs = 200;
/** Each try costs the database a transaction. With many lines each tries less often, fifty times a second in all. */
const pausePerLineMs = 20;

/** A send that can go in one statement with others, or by itself. */
export interface GroupSend<Result> {
  together(): Promise<Result>;
  alone(): Promise<Result>;
}

/**
 * Keeps sends trying while a transaction elsewhere has their message group.
 *
 * The lock of a group is the database's, held until its transaction ends, and an application may keep one
 * open for minutes. A send that waited for it in the database would keep a connection, and ten such sends
 * the whole pool; so the database is asked without waiting, and the waiting is done here. Sends to a group
 * that was found busy stand in line and go alone, so that they fail no statement that carries the sends of
 * others, and only the first in line asks the database again. Who arrives at a line tries once first: it may
 * be there for another group of a batch.
 */
export class GroupTurns {
  /** For each group that was found busy, the end of its line. */
  readonly #lines = new Map<string, Promise<unknown>>();

  /** @throws the send's error; one that isGroupBusy knows when a group stayed busy */
  async take<Result>(
    queueId: QueueId,
    groupIds: readonly string[],
    send: GroupSend<Result>,
  ): Promise<Result> {
    const keys = [...new Set(groupIds)].map((groupId) => `${queueId} ${groupId}`);
    const hasLine = keys.some((key) => this.#lines.has(key));
    const deadlineMs = performance.now() + patienceMs;
    try {
      return await (hasLine ? send.alone() : send.together());
    } catch (error) {
      if (!isGroupBusy(error)) {
        throw error;
      }
    }
    return await this.#standInLine(keys, send, deadlineMs);
  }

  async #standInLine<Result>(
    keys: readonly string[],
    send: GroupSend<Result>,
    deadlineMs: number,
  ): Promise<Result> {
    const before = Promise.all(keys.map((key) => this.#lines.get(key)));
    const turn = before.then(() => this.#sendPatiently(send, deadlineMs));
    const end = turn.catch(() => {});
    for (const key of keys) {
      this.#lines.set(key, end);
    }
    try {
      return await turn;
    } finally {
      for (const key of keys) {
        if (this.#lines.get(key) === end) {
          this.#lines.delete(key);
        }
      }
    }
  }

  async #sendPatiently<Result>(send: GroupSend<Result>, deadlineMs: number): Promise<Result> {
    for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
      try {
        return await send.alone();
      } catch (error) {
        if (!isGroupBusy(error) || performance.now() > deadlineMs) {
          throw error;
        }
      }
      const longestMs = Math.max(longestPauseMs, this.#lines.size * pausePerLineMs);
      await sleep(Math.min(pauseMs, longestMs) * (0.5 + Math.random()));
    }
  }
}
