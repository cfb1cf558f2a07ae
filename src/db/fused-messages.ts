import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { SqsError } from '../sqs/errors.ts';
import { Fuser, type FuserOptions } from './fuser.ts';
import type {
  ChangeOutcome,
  DeleteOutcome,
  FifoMessageToSend,
  MessageStore,
  MessageToSend,
  ReceivedMessage,
  ReceiveRequest,
  SentFifoMessage,
  SentMessage,
  VisibilityChange,
} from './message-store.ts';
import type { QueueId } from './queue-store.ts';
import { isGroupBusy } from './sqlstate.ts';

/** Messages in one statement. Beyond a hundred the cost of sending each hardly falls any more. */
const sendCapacity = 100;
/** Handles are small, and a hundred connections that receive ten each should need a few statements only. */
const handleCapacity = 500;

/** Statements' worth of work that may gather: more would only grow the wait and the memory. */
const gatheredStatements = 80;

/** A message counts once for each of these, so that the bodies of a statement stay below a megabyte. */
const sizeOfWeightBytes = 8 * 1024;

function weighMessage({ sizeBytes }: { sizeBytes: number }): number {
  return Math.ceil(sizeBytes / sizeOfWeightBytes);
}

/** A receive that can be repeated by its attempt id. */
interface ReceiveAttempt extends ReceiveRequest {
  attemptId: string;
}

/** Only receives that hide their messages for the same time can be one statement. */
function receiveKey(queueId: QueueId, { visibilityTimeoutSeconds }: ReceiveRequest): string {
  return `${queueId} ${visibilityTimeoutSeconds ?? 'default'}`;
}

function queueOf(key: string): QueueId {
  const [queueId = ''] = key.split(' ');
  return queueId;
}

/** Data that PostgreSQL does not take (class 22), or somebody in the way of one of the items. */
function isItemError(error: unknown): boolean {
  return isGroupBusy(error) || (error instanceof DatabaseError && /^22/.test(error.code ?? ''));
}

/** Another server's statement with one of the message groups ends within some milliseconds. */
const busyGroupRetries = 5;
const busyGroupPauseMs = 2;

/** Runs a statement again that met a busy message group, as long as it may be another server that has it. */
async function persist<Result>(statement: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await statement();
    } catch (error) {
      if (!isGroupBusy(error) || attempt > busyGroupRetries) {
        throw error;
      }
    }
    await sleep(attempt * busyGroupPauseMs * Math.random());
  }
}

/** Together a quarter of a second: longer waits are the client's, who can do something else meanwhile. */
const busyMessagePausesMs = [3, 10, 30, 70, 140];

/** Submits again what others have locked, so that the wait for them is in memory and not in the database. */
async function untilFree<Item, Outcome extends string>(
  items: readonly Item[],
  submit: (items: readonly Item[]) => Promise<Outcome[]>,
): Promise<Outcome[]> {
  let outcomes = await submit(items);
  for (const pauseMs of busyMessagePausesMs) {
    const busy = items.filter((_, index) => outcomes[index] === 'busy');
    if (busy.length === 0) {
      break;
    }
    await sleep(pauseMs);
    const retried = await submit(busy);
    outcomes = outcomes.map((outcome) =>
      outcome === 'busy' ? (retried.shift() ?? outcome) : outcome,
    );
  }
  return outcomes;
}

function fuse<Item, Result>(
  options: Pick<FuserOptions<Item, Result>, 'run' | 'weigh' | 'statementCapacity'> &
    Partial<FuserOptions<Item, Result>>,
): Fuser<Item, Result> {
  return new Fuser({
    statementsPerKey: 2,
    slowAfterMs: 5,
    ...options,
    gatheringCapacity: gatheredStatements * options.statementCapacity,
    turnAway: () =>
      new SqsError(
        'RequestThrottled',
        'More requests are waiting for the database than it keeps up with. Try again later.',
      ),
    isItemError,
  });
}

/**
 * What the server does with messages, many callers' work in one statement each. What is received from a standard
 * queue is shared out among the callers; from a FIFO queue they receive one after the other within the
 * statement, because two callers must not have parts of a message group.
 */
export class FusedMessages {
  readonly #store: MessageStore;
  readonly #sends: Fuser<MessageToSend, SentMessage>;
  readonly #fifoSends: Fuser<FifoMessageToSend, SentFifoMessage>;
  readonly #receives: Fuser<ReceiveRequest, ReceivedMessage[]>;
  readonly #fifoReceives: Fuser<ReceiveRequest, ReceivedMessage[]>;
  readonly #fifoAttempts: Fuser<ReceiveAttempt, ReceivedMessage[]>;
  readonly #deletes: Fuser<string, DeleteOutcome>;
  readonly #fifoDeletes: Fuser<string, DeleteOutcome>;
  readonly #changes: Fuser<VisibilityChange, ChangeOutcome>;
  readonly #fifoChanges: Fuser<VisibilityChange, ChangeOutcome>;

  constructor(store: MessageStore) {
    this.#store = store;
    this.#sends = fuse<MessageToSend, SentMessage>({
      run: (queueId, messages) => store.sendMessages(queueId, messages),
      weigh: weighMessage,
      statementCapacity: sendCapacity,
    });
    this.#fifoSends = fuse<FifoMessageToSend, SentFifoMessage>({
      run(queueId, messages, isAlone) {
        const statement = () => store.sendFifoMessages(queueId, messages);
        return isAlone ? statement() : persist(statement);
      },
      weigh: weighMessage,
      statementCapacity: sendCapacity,
      // Two at once would find each other's groups locked.
      statementsPerKey: 1,
    });
    this.#receives = fuse({
      run: (key, requests) => this.#receiveTogether(key, requests),
      weigh: ({ limit }) => limit,
      statementCapacity: handleCapacity,
    });
    this.#fifoReceives = fuse({
      run: (key, requests) => this.#receiveFifoTogether(key, requests),
      weigh: ({ limit }) => limit,
      statementCapacity: handleCapacity,
    });
    this.#fifoAttempts = fuse({
      run: (queueId, attempts) => this.#receiveAttempt(queueId, attempts),
      weigh: ({ limit }) => limit,
      statementCapacity: handleCapacity,
      statementsPerKey: 3,
      slowAfterMs: 0,
    });
    this.#deletes = fuse({
      run: (queueId, handles) => store.deleteMessages(queueId, handles),
      weigh: () => 1,
      statementCapacity: handleCapacity,
    });
    this.#fifoDeletes = fuse({
      run: (queueId, handles) => store.deleteFifoMessages(queueId, handles),
      weigh: () => 1,
      statementCapacity: handleCapacity,
    });
    this.#changes = fuse({
      run: (queueId, changes) => store.changeVisibility(queueId, changes),
      weigh: () => 1,
      statementCapacity: handleCapacity,
    });
    this.#fifoChanges = fuse({
      run: (queueId, changes) => store.changeFifoVisibility(queueId, changes),
      weigh: () => 1,
      statementCapacity: handleCapacity,
    });
  }

  send(queueId: QueueId, messages: readonly MessageToSend[]): Promise<SentMessage[]> {
    return this.#sends.submit(queueId, messages);
  }

  /** A send to a FIFO queue, still to be done, with others or alone. */
  fifoSend(queueId: QueueId, messages: readonly FifoMessageToSend[]) {
    return {
      together: () => this.#fifoSends.submit(queueId, messages),
      alone: () => this.#fifoSends.submitAlone(queueId, messages),
    };
  }

  async receive(queueId: QueueId, request: ReceiveRequest): Promise<ReceivedMessage[]> {
    const [received] = await this.#receives.submit(receiveKey(queueId, request), [request]);
    return received ?? [];
  }

  async receiveFifo(queueId: QueueId, request: ReceiveRequest): Promise<ReceivedMessage[]> {
    const [received] = await this.#fifoReceives.submit(receiveKey(queueId, request), [request]);
    return received ?? [];
  }

  /** A receive that can be repeated. It may have to wait for the first to end, so it goes alone, and few do at a time. */
  async receiveFifoAttempt(
    queueId: QueueId,
    request: ReceiveRequest,
    attemptId: string,
  ): Promise<ReceivedMessage[]> {
    const [received] = await this.#fifoAttempts.submitAlone(queueId, [{ ...request, attemptId }]);
    return received ?? [];
  }

  delete(queueId: QueueId, receiptHandles: readonly string[]): Promise<DeleteOutcome[]> {
    return untilFree(receiptHandles, (handles) => this.#deletes.submit(queueId, handles));
  }

  deleteFifo(queueId: QueueId, receiptHandles: readonly string[]): Promise<DeleteOutcome[]> {
    return untilFree(receiptHandles, (handles) => this.#fifoDeletes.submit(queueId, handles));
  }

  changeVisibility(
    queueId: QueueId,
    changes: readonly VisibilityChange[],
  ): Promise<ChangeOutcome[]> {
    return untilFree(changes, (some) => this.#changes.submit(queueId, some));
  }

  changeFifoVisibility(
    queueId: QueueId,
    changes: readonly VisibilityChange[],
  ): Promise<ChangeOutcome[]> {
    return untilFree(changes, (some) => this.#fifoChanges.submit(queueId, some));
  }

  /** There is always one, since attempts go alone. */
  async #receiveAttempt(
    queueId: string,
    [attempt]: readonly ReceiveAttempt[],
  ): Promise<ReceivedMessage[][]> {
    return attempt === undefined
      ? []
      : await this.#store.receiveFifoMessages(queueId, [attempt.limit], attempt, attempt.attemptId);
  }

  /** One claim for all, shared out in order: the first callers get all that they asked for. */
  async #receiveTogether(
    key: string,
    requests: readonly ReceiveRequest[],
  ): Promise<ReceivedMessage[][]> {
    const [first] = requests;
    if (first === undefined) {
      return [];
    }
    const limit = requests.reduce((total, request) => total + request.limit, 0);
    const received = await this.#store.receiveMessages(queueOf(key), { ...first, limit });
    return requests.map((request) => received.splice(0, request.limit));
  }

  /** One claim for all too, but a message group goes to one caller, so the statement shares them out. */
  async #receiveFifoTogether(
    key: string,
    requests: readonly ReceiveRequest[],
  ): Promise<ReceivedMessage[][]> {
    const [first] = requests;
    if (first === undefined) {
      return [];
    }
    const limits = requests.map((request) => request.limit);
    return await this.#store.receiveFifoMessages(queueOf(key), limits, first);
  }
}
