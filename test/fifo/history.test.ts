import { setTimeout as sleep } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { expect, it } from 'vitest';
import { type Connection, countMessages, expireMessages, settle } from '../engine/calls.ts';
import { useDatabase } from '../support/database.ts';
import {
  changeVisibility,
  createFifoQueue,
  type Delivery,
  deleteAll,
  forgetHistory,
  type Outgoing,
  receive,
  type Sent,
  sendAll,
} from './calls.ts';
import { findFaults, type History } from './history-checker.ts';

/**
 * Many senders and receivers at once, who crash, retry, roll back, extend and release at random. What they
 * did and were answered is recorded, and judged afterwards.
 *
 * TRUNKLINE_HISTORY_SECONDS makes it last longer than the suite can wait.
 */

const database = useDatabase();
const { pool } = database;

const seconds = Number(process.env['TRUNKLINE_HISTORY_SECONDS'] ?? 15);
const senders = 16;
const receivers = 16;
const groups = 50;
/** What is left must come out within this time after the last send. */
const drainMs = 20_000;

function chance(probability: number): boolean {
  return Math.random() < probability;
}

function pick<Value>(values: readonly Value[]): Value {
  const value = values[Math.floor(Math.random() * values.length)];
  if (value === undefined) {
    throw new Error('There is nothing to pick from.');
  }
  return value;
}

function shuffled<Value>(values: readonly Value[]): Value[] {
  return values
    .map((value) => ({ value, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ value }) => value);
}

/** A send that was ended by a deadlock, or would have had to wait: its sender tries again. */
function isRetryable(error: unknown): boolean {
  return error instanceof DatabaseError && ['40P01', '55P03', 'TQ006'].includes(error.code ?? '');
}

class Recorder {
  readonly history: History = { sends: [], receives: [], deletions: [], changes: [] };
  readonly queueId: string;
  /** Messages accepted and not yet deleted, so that senders do not run away from receivers. */
  backlog = 0;
  areSendersDone = false;
  isOver = false;

  constructor(queueId: string) {
    this.queueId = queueId;
  }

  /** Sends in one transaction, which is long or rolled back at times. */
  async send(client: Connection, messages: readonly Outgoing[], isOneStatement: boolean) {
    const startMs = performance.now();
    const sent: Sent[] = [];
    let isCommitted = false;
    try {
      if (isOneStatement) {
        sent.push(...(await sendAll(client, this.queueId, messages, { mayWait: chance(0.5) })));
        isCommitted = true;
      } else {
        await client.query('begin');
        for (const message of messages) {
          sent.push(...(await sendAll(client, this.queueId, [message])));
          await sleep(Math.random() * 10);
        }
        isCommitted = chance(0.7);
        await client.query(isCommitted ? 'commit' : 'rollback');
      }
    } catch (error) {
      if (!isRetryable(error)) {
        throw error;
      }
      if (!isOneStatement) {
        await client.query('rollback');
      }
      sent.length = 0;
    }
    const endMs = performance.now();
    sent.forEach(({ messageId, sequence }, index) => {
      const { group = '', deduplicationId } = messages[index] ?? {};
      this.history.sends.push({
        startMs,
        endMs,
        group,
        deduplicationId: String(deduplicationId),
        messageId,
        sequence,
        isCommitted,
      });
    });
    return isCommitted;
  }

  async receive(
    client: Connection,
    attemptId: string | undefined,
    isKept = true,
  ): Promise<Delivery[]> {
    const timeoutSeconds = pick([1, 1, 1, 2]);
    const startMs = performance.now();
    if (!isKept) {
      await client.query('begin');
    }
    const received = await receive(client, this.queueId, {
      limit: pick([1, 2, 5, 10, 10]),
      visibilityTimeoutSeconds: timeoutSeconds,
      attemptId,
    });
    if (!isKept) {
      await sleep(Math.random() * 30);
      await client.query('rollback');
      return [];
    }
    this.history.receives.push({
      startMs,
      endMs: performance.now(),
      timeoutMs: timeoutSeconds * 1000,
      messages: received,
    });
    return received;
  }

  async delete(client: Client, handles: readonly string[]) {
    const startMs = performance.now();
    const isOwnTransaction = chance(0.7);
    const isKept = isOwnTransaction || chance(0.7);
    if (!isOwnTransaction) {
      await client.query('begin');
    }
    const outcomes = await deleteAll(client, this.queueId, handles, { isOwnTransaction });
    if (!isOwnTransaction) {
      await sleep(Math.random() * 30);
      await client.query(isKept ? 'commit' : 'rollback');
    }
    if (isKept) {
      const endMs = performance.now();
      handles.forEach((receiptHandle, index) => {
        const outcome = outcomes[index] ?? '';
        this.history.deletions.push({ startMs, endMs, receiptHandle, outcome });
        this.backlog -= outcome === 'deleted' ? 1 : 0;
      });
    }
  }

  async change(client: Client, handles: readonly string[], timeoutSeconds: number) {
    const startMs = performance.now();
    const outcomes = await changeVisibility(
      client,
      this.queueId,
      handles.map((receiptHandle) => ({ receiptHandle, timeoutSeconds })),
    );
    const endMs = performance.now();
    handles.forEach((receiptHandle, index) => {
      const outcome = outcomes[index] ?? '';
      const timeoutMs = timeoutSeconds * 1000;
      this.history.changes.push({ startMs, endMs, receiptHandle, timeoutMs, outcome });
    });
  }
}

async function sendUntilDone(recorder: Recorder, client: Client, name: number) {
  for (let number = 0; !recorder.areSendersDone; number += 1) {
    const count = pick([1, 1, 1, 2, 4]);
    const messages = Array.from({ length: count }, (_, index) => ({
      group: `g${Math.floor(Math.random() * groups)}`,
      deduplicationId: `${name}-${number}-${index}`,
    }));
    const isOneStatement = chance(0.8);
    // A client that saw no answer sends again, even while the first attempt is still under way.
    const attempts = [recorder.send(client, messages, isOneStatement)];
    if (chance(0.1) && isOneStatement) {
      attempts.push(recorder.send(pool, messages, true));
    }
    let isCommitted = (await Promise.all(attempts)).includes(true);
    while (!isCommitted || chance(0.1)) {
      isCommitted = (await recorder.send(client, messages, true)) || isCommitted;
    }
    recorder.backlog += count;
    await sleep(recorder.backlog > 500 ? 100 : Math.random() * 20);
  }
}

async function receiveUntilOver(recorder: Recorder, client: Client) {
  while (!recorder.isOver) {
    const attemptId = chance(0.3) ? `attempt ${Math.random()}` : undefined;
    const receives = [recorder.receive(client, attemptId, attemptId !== undefined || chance(0.95))];
    if (attemptId !== undefined && chance(0.5)) {
      receives.push(recorder.receive(pool, attemptId));
    }
    const received = (await Promise.all(receives)).reduce((one, other) =>
      one.length > other.length ? one : other,
    );
    if (received.length === 0) {
      await sleep(20);
    } else {
      await consume(
        recorder,
        client,
        received.map(({ receiptHandle }) => receiptHandle),
      );
    }
  }
}

/** What becomes of an answer: most is deleted, in all ways that consumers have. */
async function consume(recorder: Recorder, client: Client, handles: readonly string[]) {
  if (recorder.areSendersDone) {
    await recorder.delete(client, handles);
    return;
  }
  const half = shuffled(handles).slice(0, Math.ceil(handles.length / 2));
  await sleep(Math.random() * 20);
  if (chance(0.04)) {
    return;
  }
  if (chance(0.05)) {
    await recorder.change(client, half, 2);
    await sleep(1_200);
  } else if (chance(0.02)) {
    // Slower than its timeout.
    await sleep(1_100);
  }
  if (chance(0.1)) {
    await recorder.change(client, half, 0);
  }
  if (chance(0.1)) {
    await recorder.delete(client, half);
  } else if (chance(0.3)) {
    for (const handle of shuffled(handles)) {
      await recorder.delete(client, [handle]);
    }
  } else {
    await recorder.delete(client, handles);
  }
  if (chance(0.05)) {
    await recorder.delete(client, half);
  }
}

/** As the server's background services do. */
async function maintainUntilOver(recorder: Recorder) {
  while (!recorder.isOver) {
    await settle(pool);
    await forgetHistory(pool, 2_000);
    await expireMessages(pool, 2_000);
    await sleep(200);
  }
}

it('keeps every promise among many senders and receivers', {
  timeout: seconds * 1_000 + 2 * drainMs,
}, async () => {
  const recorder = new Recorder(await createFifoQueue(pool));
  const clients = await Promise.all(
    Array.from({ length: senders + receivers }, async () => {
      const client = new Client({ connectionString: database.url });
      await client.connect();
      return client;
    }),
  );
  try {
    const sending = clients
      .slice(0, senders)
      .map((client, index) => sendUntilDone(recorder, client, index));
    const receiving = clients.slice(senders).map((client) => receiveUntilOver(recorder, client));
    const background = [...receiving, maintainUntilOver(recorder)];
    await sleep(seconds * 1_000);
    recorder.areSendersDone = true;
    await Promise.all(sending);
    const deadlineMs = performance.now() + drainMs;
    while (recorder.backlog > 0 && performance.now() < deadlineMs) {
      await sleep(50);
    }
    recorder.isOver = true;
    await Promise.all(background);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }

  expect(findFaults(recorder.history)).toEqual([]);
  expect(await countMessages(pool, recorder.queueId)).toEqual({
    visible: 0,
    inFlight: 0,
    delayed: 0,
  });
  // Enough happened to judge by.
  const { sends, receives, deletions, changes } = recorder.history;
  for (const calls of [sends, receives, deletions, changes]) {
    expect(calls.length).toBeGreaterThan(seconds);
  }
});
