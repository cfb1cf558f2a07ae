import { createHash } from 'node:crypto';

/**
 * What a FIFO queue has to do, without any database. One party, Ann, may have a transaction open in which
 * she has sent messages; all else is committed at once. Times are in milliseconds.
 */

export interface ModelSettings {
  visibility_timeout_seconds: number;
  delay_seconds: number;
  message_retention_seconds: number;
  content_based_deduplication: boolean;
  deduplication_scope: 'queue' | 'messageGroup';
}

export interface Entry {
  group: string;
  deduplicationId: string | null;
  body: string;
}

export interface Answered {
  messageId: string;
  sequence: bigint;
  refusal: string | null;
}

/** What a receive answers of a message. */
export interface Receipt {
  messageId: string;
  receiptHandle: string;
  group: string;
  sequence: bigint;
  receiveCount: number;
}

interface Message {
  id: string;
  sequence: bigint;
  group: string;
  sentAtMs: number;
  visibleAtMs: number;
  receivedAtMs: number;
  receiveCount: number;
  /** Of the latest receive: the only one that works. */
  receiptHandle: string | undefined;
}

interface Known {
  messageId: string;
  sequence: bigint;
  expiresAtMs: number;
}

interface Attempt {
  receiptHandles: string[];
  messages: Message[];
  visibleAtMs: number;
  expiresAtMs: number;
}

interface Transaction {
  messages: Message[];
  known: Map<string, Known>;
  groups: Set<string>;
  /** Deduplication ids it has used, first or not: nobody else can use them until it ends. */
  used: Set<string>;
}

/** Messages that a group gives, if it is asked, and since when it has been waiting for that. */
interface Offer {
  group: string;
  messages: Message[];
  /** Undefined: it may come at any place among the others. */
  waitingSinceMs: number | undefined;
  /** False while a head past its retention still covers the group, until the janitor comes. */
  isCertain: boolean;
}

const windowMs = 300_000;
const longestInFlightMs = 12 * 3_600_000;
const purgeIntervalMs = 60_000;

export class FifoQueueModel {
  nowMs: number;
  settings: ModelSettings;
  readonly attemptIds = ['a', 'b'];
  /** Stored messages in the order of their sequence numbers. */
  #messages: Message[] = [];
  readonly #known = new Map<string, Known>();
  readonly #attempts = new Map<string, Attempt>();
  readonly #handles = new Map<string, Message>();
  /** When a receive last had, or may next have, something to do with a group. Absent: unknown. */
  readonly #waitingSinceMs = new Map<string, number>();
  #transaction: Transaction | undefined;
  #purgedAtMs = Number.NEGATIVE_INFINITY;

  constructor(nowMs: number, settings: ModelSettings) {
    this.nowMs = nowMs;
    this.settings = settings;
  }

  get handles(): string[] {
    return [...this.#handles.keys()];
  }

  get isAnnInTransaction(): boolean {
    return this.#transaction !== undefined;
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  begin(): void {
    this.#transaction = { messages: [], known: new Map(), groups: new Set(), used: new Set() };
  }

  rollback(): void {
    this.#transaction = undefined;
  }

  commit(): void {
    const { messages = [], known = new Map<string, Known>() } = this.#transaction ?? {};
    this.#transaction = undefined;
    for (const [key, value] of known) {
      this.#known.set(key, value);
    }
    for (const message of messages) {
      if (this.#rowsOf(message.group).length === 0) {
        // Whether its row was kept, drained or made anew is not for others to know.
        this.#waitingSinceMs.delete(message.group);
      }
      this.#messages.push(message);
    }
    this.#messages.sort((one, other) => Number(one.sequence - other.sequence));
  }

  /** Another's open transaction sends to one of the groups. */
  isBusy(entries: readonly Entry[]): boolean {
    return entries.some(
      (entry) => this.#key(entry) !== undefined && this.#transaction?.groups.has(entry.group),
    );
  }

  /** The send would wait for an open transaction to end, to know whether it is the first. */
  wouldWait(entries: readonly Entry[]): boolean {
    return entries.some((entry) => this.#transaction?.used.has(this.#key(entry) ?? ''));
  }

  /** Judges the answer of a send and takes it over. */
  send(isAnn: boolean, entries: readonly Entry[], answers: readonly Answered[]): void {
    check(answers.length === entries.length, 'A send answered a wrong number of entries.');
    const transaction = isAnn ? this.#transaction : undefined;
    entries.forEach((entry, index) => {
      const answer = answers[index];
      check(answer !== undefined, 'An entry has no answer.');
      const key = this.#key(entry);
      if (key === undefined) {
        check(answer.refusal === 'no_deduplication_id', `Expected a refusal of ${entry.body}.`);
        return;
      }
      check(answer.refusal === null, `${entry.body} was refused: ${answer.refusal}.`);
      transaction?.groups.add(entry.group);
      transaction?.used.add(key);
      const known = transaction?.known.get(key) ?? this.#known.get(key);
      if (known !== undefined && known.expiresAtMs > this.nowMs) {
        const isOriginal =
          answer.messageId === known.messageId && answer.sequence === known.sequence;
        check(isOriginal, `A repeat of ${known.messageId} was answered ${answer.messageId}.`);
        return;
      }
      this.#store(entry, key, answer, transaction);
    });
  }

  #store(entry: Entry, key: string, answer: Answered, transaction: Transaction | undefined): void {
    const last = [...this.#messages, ...(transaction?.messages ?? [])]
      .filter(({ group }) => group === entry.group)
      .at(-1);
    check(
      answer.sequence > (last?.sequence ?? 0n),
      `${answer.sequence} comes after ${last?.sequence} in ${entry.group}.`,
    );
    const message: Message = {
      id: answer.messageId,
      sequence: answer.sequence,
      group: entry.group,
      sentAtMs: this.nowMs,
      visibleAtMs: this.nowMs + this.settings.delay_seconds * 1000,
      receivedAtMs: 0,
      receiveCount: 0,
      receiptHandle: undefined,
    };
    const known = {
      messageId: answer.messageId,
      sequence: answer.sequence,
      expiresAtMs: this.nowMs + windowMs,
    };
    if (transaction !== undefined) {
      transaction.messages.push(message);
      transaction.known.set(key, known);
      return;
    }
    if (this.#rowsOf(entry.group).length === 0) {
      this.#waitingSinceMs.set(entry.group, message.visibleAtMs);
    }
    this.#messages.push(message);
    this.#known.set(key, known);
  }

  /**
   * Judges an answer and takes it over: whole runs from the heads of groups, those first that wait longest,
   * and as much as there is and may be.
   */
  receive(
    limit: number,
    timeoutSeconds: number | undefined,
    inFlightLimit: number,
    attemptId: string | undefined,
    answer: readonly Receipt[],
  ): void {
    const timeoutMs = (timeoutSeconds ?? this.settings.visibility_timeout_seconds) * 1000;
    const attempt = this.#liveAttempt(attemptId);
    if (attempt !== undefined) {
      check(this.#isRepeatable(attempt), 'A receive that cannot be repeated was repeated.');
      const handles = answer.map(({ receiptHandle }) => receiptHandle);
      check(
        JSON.stringify(handles) === JSON.stringify(attempt.receiptHandles),
        'A repeat gave other messages or handles.',
      );
      attempt.visibleAtMs = this.nowMs + timeoutMs;
      for (const message of attempt.messages) {
        message.visibleAtMs = attempt.visibleAtMs;
      }
      this.#touch(attempt.messages.map(({ group }) => group));
      return;
    }

    const allowed = Math.min(limit, inFlightLimit - this.counts().inFlight);
    this.#judge(Math.max(allowed, 0), answer);
    const messages = answer.map((receipt) => this.#take(receipt, timeoutMs));
    if (attemptId !== undefined && messages.length > 0) {
      this.#attempts.set(attemptId, {
        receiptHandles: answer.map(({ receiptHandle }) => receiptHandle),
        messages,
        visibleAtMs: this.nowMs + timeoutMs,
        expiresAtMs: this.nowMs + windowMs,
      });
    }
  }

  /** Whether a receive with this attempt id has to be refused. */
  isRefused(attemptId: string | undefined): boolean {
    const attempt = this.#liveAttempt(attemptId);
    return attempt !== undefined && !this.#isRepeatable(attempt);
  }

  #liveAttempt(attemptId: string | undefined): Attempt | undefined {
    const attempt = this.#attempts.get(attemptId ?? '');
    return attempt !== undefined && attempt.expiresAtMs > this.nowMs ? attempt : undefined;
  }

  #isRepeatable({ messages, receiptHandles, visibleAtMs }: Attempt): boolean {
    return messages.every(
      (message, index) =>
        this.#messages.includes(message) &&
        !this.#isExpired(message) &&
        message.receiptHandle === receiptHandles[index] &&
        message.visibleAtMs === visibleAtMs,
    );
  }

  #judge(limit: number, answer: readonly Receipt[]): void {
    const offers = new Map(this.#offers().map((offer) => [offer.group, offer]));
    const certain = [...offers.values()].filter(({ isCertain }) => isCertain);
    const least = certain.reduce((total, { messages }) => total + messages.length, 0);
    check(answer.length <= limit, `Received ${answer.length} messages instead of ${limit}.`);
    check(
      answer.length >= Math.min(limit, least),
      `Received ${answer.length} messages, of ${least} that there are and ${limit} that may be.`,
    );

    let latestMs = Number.NEGATIVE_INFINITY;
    for (let index = 0; index < answer.length; ) {
      const group = answer[index]?.group ?? '';
      const offer = offers.get(group);
      check(offer !== undefined, `${group} has nothing to give, or was given already.`);
      offers.delete(group);
      const run = answer.slice(index, index + offer.messages.length);
      run.forEach((receipt, position) => {
        check(
          receipt.messageId === offer.messages[position]?.id,
          `${group} gave ${receipt.messageId} at place ${position}.`,
        );
      });
      if (offer.waitingSinceMs !== undefined) {
        check(offer.waitingSinceMs >= latestMs, `${group} had been waiting longer.`);
        latestMs = offer.waitingSinceMs;
      }
      index += run.length;
    }
    for (const { group, waitingSinceMs, isCertain } of offers.values()) {
      const isPassedOver = isCertain && waitingSinceMs !== undefined && waitingSinceMs < latestMs;
      check(!isPassedOver, `${group} was passed over, though it had been waiting longest.`);
    }
  }

  #take(receipt: Receipt, timeoutMs: number): Message {
    const message = this.#messages.find(({ id }) => id === receipt.messageId);
    check(message !== undefined, `${receipt.messageId} is not stored.`);
    message.visibleAtMs = this.nowMs + timeoutMs;
    message.receivedAtMs = this.nowMs;
    message.receiveCount += 1;
    message.receiptHandle = receipt.receiptHandle;
    check(receipt.sequence === message.sequence, `${message.id} changed its sequence number.`);
    check(receipt.receiveCount === message.receiveCount, `${message.id} was miscounted.`);
    check(!this.#handles.has(receipt.receiptHandle), 'A receipt handle was given out twice.');
    this.#handles.set(receipt.receiptHandle, message);
    this.#waitingSinceMs.set(message.group, message.visibleAtMs);
    return message;
  }

  delete(receiptHandles: readonly string[]): string[] {
    const messages = receiptHandles.map((handle) => this.#storedFor(handle));
    const deleted = new Set(
      messages.filter(
        (message, index) =>
          message?.receiptHandle === receiptHandles[index] &&
          message !== undefined &&
          message.visibleAtMs > this.nowMs,
      ),
    );
    this.#messages = this.#messages.filter((message) => !deleted.has(message));
    this.#touch(messages.flatMap((message) => message?.group ?? []));
    return messages.map((message, index) => {
      if (message === undefined) {
        return 'missing';
      }
      const isOwner = message.receiptHandle === receiptHandles[index];
      return isOwner && deleted.has(message) ? 'deleted' : 'expired';
    });
  }

  changeVisibility(
    changes: readonly { receiptHandle: string; timeoutSeconds: number }[],
  ): string[] {
    const messages = changes.map(({ receiptHandle }) => this.#storedFor(receiptHandle));
    const outcomes = changes.map(({ receiptHandle, timeoutSeconds }, index) => {
      const message = messages[index];
      if (
        message === undefined ||
        message.receiptHandle !== receiptHandle ||
        message.visibleAtMs <= this.nowMs ||
        this.#isExpired(message)
      ) {
        return 'missing';
      }
      const hiddenForMs = this.nowMs + timeoutSeconds * 1000 - message.receivedAtMs;
      return hiddenForMs > longestInFlightMs ? 'too_long' : 'changed';
    });
    changes.forEach(({ timeoutSeconds }, index) => {
      const message = messages[index];
      if (message !== undefined && outcomes[index] === 'changed') {
        message.visibleAtMs = this.nowMs + timeoutSeconds * 1000;
      }
    });
    this.#touch(messages.flatMap((message) => message?.group ?? []));
    return outcomes;
  }

  /** Messages past their retention count until the janitor has come by. */
  counts(): { visible: number; inFlight: number; delayed: number } {
    const counts = { visible: 0, inFlight: 0, delayed: 0 };
    for (const message of this.#messages) {
      const isHidden = message.visibleAtMs > this.nowMs;
      counts[!isHidden ? 'visible' : message.receiveCount > 0 ? 'inFlight' : 'delayed'] += 1;
    }
    return counts;
  }

  /** The janitor's run; answers how many messages it removes. */
  /**
   * What Ann's sends keep locked, which is the row of a group that she took into use again, is left for the next time.
   *
   * @param left ids of the messages that are still stored
   * @returns how many were removed
   */
  expire(limit: number, left: ReadonlySet<string>): number {
    const due = this.#messages.slice(0, limit).filter((message) => this.#isExpired(message));
    const removed = due.filter(({ id }) => !left.has(id));
    const isAllowed = due.every(
      ({ id, group }) => !left.has(id) || this.#transaction?.groups.has(group),
    );
    check(isAllowed, 'A message past its retention is left.');
    this.#messages = this.#messages.filter((message) => !removed.includes(message));
    this.#touch(removed.map(({ group }) => group));
    return removed.length;
  }

  /** False, and nothing happens, when the last purge was too recent. */
  purge(): boolean {
    if (this.#purgedAtMs > this.nowMs - purgeIntervalMs) {
      return false;
    }
    this.#purgedAtMs = this.nowMs;
    this.#messages = [];
    this.#known.clear();
    this.#attempts.clear();
    return true;
  }

  #offers(): Offer[] {
    const groups = new Set(this.#messages.map(({ group }) => group));
    return [...groups].flatMap((group) => {
      const rows = this.#rowsOf(group);
      const alive = rows.filter((message) => !this.#isExpired(message));
      const end = alive.findIndex(({ visibleAtMs }) => visibleAtMs > this.nowMs);
      const messages = end === -1 ? alive : alive.slice(0, end);
      const isCertain = alive.length === rows.length;
      const waitingSinceMs = isCertain ? this.#waitingSinceMs.get(group) : undefined;
      return messages.length > 0 ? [{ group, messages, waitingSinceMs, isCertain }] : [];
    });
  }

  #rowsOf(group: string): Message[] {
    return this.#messages.filter((message) => message.group === group);
  }

  /** What was done to a message of a group sends the group behind those that wait already. */
  #touch(groups: readonly string[]): void {
    for (const group of groups) {
      const head = this.#rowsOf(group).find((message) => !this.#isExpired(message));
      if (head === undefined) {
        this.#waitingSinceMs.delete(group);
      } else {
        this.#waitingSinceMs.set(group, Math.max(head.visibleAtMs, this.nowMs));
      }
    }
  }

  #isExpired({ sentAtMs }: Message): boolean {
    return sentAtMs <= this.nowMs - this.settings.message_retention_seconds * 1000;
  }

  #storedFor(receiptHandle: string): Message | undefined {
    const message = this.#handles.get(receiptHandle);
    return message !== undefined && this.#messages.includes(message) ? message : undefined;
  }

  #key({ group, deduplicationId, body }: Entry): string | undefined {
    const { content_based_deduplication: isContentBased, deduplication_scope: scope } =
      this.settings;
    const id =
      deduplicationId ??
      (isContentBased ? createHash('sha256').update(body).digest('hex') : undefined);
    return id === undefined ? undefined : `${scope === 'messageGroup' ? group : ''} ${id}`;
  }
}

function check(isTrue: boolean, fault: string): asserts isTrue {
  if (!isTrue) {
    throw new Error(fault);
  }
}
