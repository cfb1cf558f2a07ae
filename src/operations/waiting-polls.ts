import type { QueueId } from '../db/queue-store.ts';

/**
 * Long polls that wait for messages. None holds a database connection: each waits here for a hint that its
 * queue may have a message, and only then asks the database.
 *
 * Hints come from sends on this server, from other servers (wake channel), and from a look-out that asks
 * about all waited-for queues in one query, which also sees messages that SQL transactions committed and
 * those that become visible by the passing of time. The look-out runs only while somebody waits.
 *
 * A hint gives one waiting poll of the queue its turn; a turn that found messages gives the next one its
 * turn. So five hundred polls of one queue do not all run for one message.
 */
export interface WaitingPollsOptions {
  /** For each queue: milliseconds until a message is due, null when none is in sight; absent when gone. */
  lookOut(queueIds: readonly QueueId[]): Promise<Map<QueueId, number | null>>;
  onLookOutError(error: unknown): void;
  /** Told when the first poll begins to wait and when the last one ends. */
  onWaitingChange?(isWaiting: boolean): void;
  /** Time between two look-outs, varied at random by a tenth so that servers do not ask in step. */
  lookOutIntervalMs?: number;
}

interface Waiter {
  giveTurn(): void;
}

interface QueueRoom {
  /** Polls of the queue, waiting or at their turn. */
  members: number;
  waiters: Set<Waiter>;
  /** Grows with every hint, so that one that came while a poll was asking is not lost. */
  hints: number;
  dueTimer: NodeJS.Timeout | undefined;
}

export class WaitingPolls {
  readonly #options: WaitingPollsOptions;
  readonly #intervalMs: number;
  readonly #rooms = new Map<QueueId, QueueRoom>();
  #lookOutTimer: NodeJS.Timeout | undefined;
  #isLookingOut = false;
  #isWaiting = false;
  #isClosed = false;

  constructor(options: WaitingPollsOptions) {
    this.#options = options;
    this.#intervalMs = options.lookOutIntervalMs ?? 290;
  }

  get isEmpty(): boolean {
    return this.#rooms.size === 0;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Joins the polls of a queue. To be called before the first attempt to receive, and left in the end. */
  join(queueId: QueueId): Poll {
    let room = this.#rooms.get(queueId);
    if (room === undefined) {
      room = { members: 0, waiters: new Set(), hints: 0, dueTimer: undefined };
      this.#rooms.set(queueId, room);
    }
    room.members += 1;
    return new Poll(this, queueId, room);
  }

  /** A queue may have got messages: lets one waiting poll of it have a look. */
  hint(queueId: QueueId): void {
    const room = this.#rooms.get(queueId);
    if (room === undefined) {
      return;
    }
    room.hints += 1;
    const [first] = room.waiters;
    first?.giveTurn();
  }

  /** Ends all waits now and refuses new ones, so that every waiting poll is answered empty. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#lookOutTimer);
    for (const room of this.#rooms.values()) {
      for (const waiter of room.waiters) {
        waiter.giveTurn();
      }
    }
  }

  /** @internal Waits for a turn; false when the time is up, the client is gone, or the server closes. */
  async wait(queueRoom: QueueRoom, forMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#isClosed || signal.aborted || forMs <= 0) {
      return false;
    }
    this.#startLookOut();
    const gotTurn = await new Promise<boolean>((resolve) => {
      const end = (gotTurnNow: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        queueRoom.waiters.delete(waiter);
        resolve(gotTurnNow);
      };
      const giveUp = () => end(false);
      const waiter: Waiter = { giveTurn: () => end(true) };
      const timer = setTimeout(giveUp, forMs);
      signal.addEventListener('abort', giveUp);
      queueRoom.waiters.add(waiter);
    });
    return gotTurn && !this.#isClosed;
  }

  /** @internal */
  leave(queueId: QueueId, room: QueueRoom): void {
    room.members -= 1;
    if (room.members === 0) {
      clearTimeout(room.dueTimer);
      this.#rooms.delete(queueId);
    }
    if (this.isEmpty) {
      clearTimeout(this.#lookOutTimer);
      this.#lookOutTimer = undefined;
      this.#setWaiting(false);
    }
  }

  #startLookOut(): void {
    this.#setWaiting(true);
    if (this.#isLookingOut) {
      return;
    }
    this.#lookOutTimer ??= setTimeout(
      () => void this.#lookOut(),
      this.#intervalMs * (0.9 + Math.random() / 5),
    );
  }

  async #lookOut(): Promise<void> {
    this.#lookOutTimer = undefined;
    this.#isLookingOut = true;
    const waitedFor = [...this.#rooms].filter(([, room]) => room.waiters.size > 0);
    try {
      if (waitedFor.length > 0) {
        const due = await this.#options.lookOut(waitedFor.map(([queueId]) => queueId));
        for (const [queueId, room] of waitedFor) {
          this.#schedule(queueId, room, due.get(queueId));
        }
      }
    } catch (error) {
      this.#options.onLookOutError(error);
    }
    this.#isLookingOut = false;
    if (!this.#isClosed && !this.isEmpty) {
      this.#startLookOut();
    }
  }

  #schedule(queueId: QueueId, room: QueueRoom, dueInMs: number | null | undefined): void {
    clearTimeout(room.dueTimer);
    room.dueTimer = undefined;
    if (dueInMs === undefined) {
      // The queue is gone. Every poll finds that out for itself.
      for (const waiter of room.waiters) {
        waiter.giveTurn();
      }
    } else if (dueInMs !== null && dueInMs <= 0) {
      this.hint(queueId);
    } else if (dueInMs !== null && dueInMs < this.#intervalMs * 2) {
      room.dueTimer = setTimeout(() => this.hint(queueId), Math.ceil(dueInMs));
    }
  }

  #setWaiting(isWaiting: boolean): void {
    if (this.#isWaiting !== isWaiting) {
      this.#isWaiting = isWaiting;
      this.#options.onWaitingChange?.(isWaiting);
    }
  }
}

/** One long poll. Attempts to receive go through it, so that it knows which hints they may have missed. */
export class Poll {
  readonly #polls: WaitingPolls;
  readonly #queueId: QueueId;
  readonly #room: QueueRoom;

  constructor(polls: WaitingPolls, queueId: QueueId, room: QueueRoom) {
    this.#polls = polls;
    this.#queueId = queueId;
    this.#room = room;
  }

  /**
   * Repeats an attempt until it finds something, the time is up, the client is gone, or the server closes;
   * answers the last attempt's findings.
   */
  async until<Item>(
    attempt: () => Promise<Item[]>,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<Item[]> {
    for (;;) {
      const seen = this.#room.hints;
      const found = await this.#attempt(attempt);
      if (found.length > 0) {
        this.#polls.hint(this.#queueId);
        return found;
      }
      if (this.#polls.isClosed || performance.now() >= deadlineMs) {
        return [];
      }
      // A hint that came during the attempt may be about what the attempt was too early for.
      const hasTurn =
        this.#room.hints !== seen ||
        (await this.#polls.wait(this.#room, deadlineMs - performance.now(), signal));
      if (!hasTurn) {
        return [];
      }
      if (signal.aborted) {
        // The turn was for somebody who is still there.
        this.#polls.hint(this.#queueId);
        return [];
      }
    }
  }

  async #attempt<Item>(attempt: () => Promise<Item[]>): Promise<Item[]> {
    try {
      return await attempt();
    } catch (error) {
      // Whatever there is to find is for the next poll to find.
      this.#polls.hint(this.#queueId);
      throw error;
    }
  }

  leave(): void {
    this.#polls.leave(this.#queueId, this.#room);
  }
}
