/**
 * What a standard queue has to do, without any database: the messages, as every client sees them, in and out
 * of transactions. Times are in milliseconds.
 */

export interface Settings {
  visibility_timeout_seconds: number;
  delay_seconds: number;
  message_retention_seconds: number;
}

/** What a receive answers of a message. */
export interface Receipt {
  messageId: string;
  receiptHandle: string;
  receiveCount: number;
  sentAtMs: number;
  firstReceivedAtMs: number;
}

interface State {
  sentAtMs: number;
  visibleAtMs: number;
  receivedAtMs: number | undefined;
  firstReceivedAtMs: number | undefined;
  receiveCount: number;
  /** Of the latest receive: the only one that deletes. */
  receiptHandle: string | undefined;
}

interface Message {
  id: string;
  /** Undefined while its send is not committed, and once it is deleted. */
  committed: State | undefined;
  /** Written by a transaction that is still open, which keeps others from the message until it ends. */
  pending: { client: string; state: State | undefined } | undefined;
}

const longestInFlightMs = 12 * 3600 * 1000;
const purgeIntervalMs = 60_000;

export class StandardQueueModel {
  nowMs: number;
  settings: Settings;
  /** In the order they were sent. */
  readonly #messages = new Map<string, Message>();
  /** The message that each receipt handle was given out for. */
  readonly #handles = new Map<string, string>();
  readonly #inTransaction = new Set<string>();
  #purgedAtMs = Number.NEGATIVE_INFINITY;

  constructor(nowMs: number, settings: Settings) {
    this.nowMs = nowMs;
    this.settings = settings;
  }

  get handles(): string[] {
    return [...this.#handles.keys()];
  }

  isInTransaction(client: string): boolean {
    return this.#inTransaction.has(client);
  }

  begin(client: string): void {
    this.#inTransaction.add(client);
  }

  commit(client: string): void {
    this.#end(client, (pending) => pending);
  }

  rollback(client: string): void {
    this.#end(client, (_pending, committed) => committed);
  }

  send(client: string, messageIds: readonly string[], delays: readonly (number | undefined)[]) {
    messageIds.forEach((id, index) => {
      const message: Message = { id, committed: undefined, pending: undefined };
      this.#messages.set(id, message);
      this.#write(client, message, {
        sentAtMs: this.nowMs,
        visibleAtMs: this.nowMs + (delays[index] ?? this.settings.delay_seconds) * 1000,
        receivedAtMs: undefined,
        firstReceivedAtMs: undefined,
        receiveCount: 0,
        receiptHandle: undefined,
      });
    });
  }

  /** How many more messages may be in flight. */
  room(client: string, inFlightLimit: number): number {
    return inFlightLimit - this.counts(client).inFlight;
  }

  /**
   * Judges an answer and takes it over: the longest visible messages, and as many as there are and may be.
   * Messages that became visible at the same time may come in any order.
   */
  receive(
    client: string,
    limit: number,
    timeoutSeconds: number | undefined,
    answer: readonly Receipt[],
  ): void {
    const receivable = this.#receivable(client);
    const expected = Math.min(limit, receivable.size);
    if (answer.length !== expected) {
      throw new Error(`Received ${answer.length} messages instead of ${expected}.`);
    }
    const timeoutMs = (timeoutSeconds ?? this.settings.visibility_timeout_seconds) * 1000;
    const visibleSince: number[] = [];
    for (const receipt of answer) {
      const { message, state } = receivable.get(receipt.messageId) ?? {};
      if (message === undefined || state === undefined) {
        throw new Error(`Received ${receipt.messageId}, which is hidden, gone, or received twice.`);
      }
      receivable.delete(message.id);
      visibleSince.push(state.visibleAtMs);
      const received: State = {
        sentAtMs: state.sentAtMs,
        visibleAtMs: this.nowMs + timeoutMs,
        receivedAtMs: this.nowMs,
        firstReceivedAtMs: state.firstReceivedAtMs ?? this.nowMs,
        receiveCount: state.receiveCount + 1,
        receiptHandle: receipt.receiptHandle,
      };
      for (const name of ['sentAtMs', 'firstReceivedAtMs', 'receiveCount'] as const) {
        if (receipt[name] !== received[name]) {
          throw new Error(`${message.id} has the ${name} ${receipt[name]}, not ${received[name]}.`);
        }
      }
      this.#handles.set(receipt.receiptHandle, message.id);
      this.#write(client, message, received);
    }
    const left = [...receivable.values()].map(({ state }) => state.visibleAtMs);
    if (Math.max(...visibleSince) > Math.min(...left)) {
      throw new Error('A message was received before one that had been visible longer.');
    }
  }

  /** Whether another client's open transaction would make this one wait for the message of the handle. */
  isLocked(client: string, receiptHandle: string): boolean {
    const pending = this.#messageOf(receiptHandle)?.pending;
    return pending !== undefined && pending.client !== client;
  }

  delete(client: string, receiptHandles: readonly string[]): string[] {
    const deleted = receiptHandles.map((receiptHandle) => {
      const message = this.#messageOf(receiptHandle);
      const isLatest = message && this.#state(client, message)?.receiptHandle === receiptHandle;
      return isLatest ? message : undefined;
    });
    for (const message of deleted) {
      if (message !== undefined) {
        this.#write(client, message, undefined);
      }
    }
    return deleted.map((message) => (message === undefined ? 'missing' : 'deleted'));
  }

  changeVisibility(
    client: string,
    changes: readonly { receiptHandle: string; timeoutSeconds: number }[],
  ): string[] {
    return changes.map(({ receiptHandle, timeoutSeconds }) => {
      const message = this.#messageOf(receiptHandle);
      const state = message && this.#state(client, message);
      if (!message || state?.receivedAtMs === undefined || this.#isExpired(state)) {
        return 'missing';
      }
      const visibleAtMs = this.nowMs + timeoutSeconds * 1000;
      const isTooLong = visibleAtMs - state.receivedAtMs > longestInFlightMs;
      this.#write(client, message, isTooLong ? state : { ...state, visibleAtMs });
      return isTooLong ? 'too_long' : 'changed';
    });
  }

  /** Expired messages count until the janitor has come by. */
  counts(client: string): { visible: number; inFlight: number; delayed: number } {
    const counts = { visible: 0, inFlight: 0, delayed: 0 };
    for (const message of this.#messages.values()) {
      const state = this.#state(client, message);
      if (state !== undefined) {
        const isHidden = state.visibleAtMs > this.nowMs;
        const kind = !isHidden ? 'visible' : state.receiveCount > 0 ? 'inFlight' : 'delayed';
        counts[kind] += 1;
      }
    }
    return counts;
  }

  /** The janitor's run; answers how many messages it removes, passing over those in open transactions. */
  expire(limit: number): number {
    const removed = [...this.#messages.values()]
      .filter(({ committed }) => committed !== undefined && this.#isExpired(committed))
      .slice(0, limit)
      .filter(({ pending }) => pending === undefined);
    for (const { id } of removed) {
      this.#messages.delete(id);
    }
    return removed.length;
  }

  /** False, and nothing happens, when the last purge was too recent. */
  purge(): boolean {
    if (this.#purgedAtMs > this.nowMs - purgeIntervalMs) {
      return false;
    }
    this.#purgedAtMs = this.nowMs;
    this.#messages.clear();
    return true;
  }

  #receivable(client: string): Map<string, { message: Message; state: State }> {
    const receivable = new Map<string, { message: Message; state: State }>();
    for (const message of this.#messages.values()) {
      const state = this.#state(client, message);
      const isOthers = message.pending !== undefined && message.pending.client !== client;
      if (
        state !== undefined &&
        !isOthers &&
        state.visibleAtMs <= this.nowMs &&
        !this.#isExpired(state)
      ) {
        receivable.set(message.id, { message, state });
      }
    }
    return receivable;
  }

  #isExpired(state: State): boolean {
    return state.sentAtMs <= this.nowMs - this.settings.message_retention_seconds * 1000;
  }

  #messageOf(receiptHandle: string): Message | undefined {
    return this.#messages.get(this.#handles.get(receiptHandle) ?? '');
  }

  #state(client: string, { committed, pending }: Message): State | undefined {
    return pending?.client === client ? pending.state : committed;
  }

  #write(client: string, message: Message, state: State | undefined): void {
    message.pending = { client, state };
    if (!this.#inTransaction.has(client)) {
      this.commit(client);
    }
  }

  #end(
    client: string,
    outcome: (pending: State | undefined, committed: State | undefined) => State | undefined,
  ): void {
    this.#inTransaction.delete(client);
    for (const message of this.#messages.values()) {
      if (message.pending?.client === client) {
        message.committed = outcome(message.pending.state, message.committed);
        message.pending = undefined;
        if (message.committed === undefined) {
          this.#messages.delete(message.id);
        }
      }
    }
  }
}
