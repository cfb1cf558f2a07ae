import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import {
  bodiesOf,
  changeVisibility,
  countMessages,
  createQueue,
  deleteMessages,
  inFlightQuota,
  openSession,
  receive,
  receiveOne,
  send,
  settle,
} from './calls.ts';

const database = useDatabase();
const { pool } = database;

const start = new Date('2030-01-01T00:00:00Z');

function later(seconds: number): Date {
  return new Date(start.getTime() + seconds * 1000);
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index));
}

describe('many receivers', () => {
  /**
   * Who holds which message. Noted as held when a receive has answered, and as free before giving it back
   * begins, so that every overlap is a real one.
   */
  class Holders {
    readonly held = new Map<string, number>();
    readonly deleted = new Set<string>();
    readonly faults: string[] = [];

    take(receiver: number, messageId: string): void {
      const holder = this.held.get(messageId);
      if (holder !== undefined || this.deleted.has(messageId)) {
        this.faults.push(`${messageId}: ${receiver} got it after ${holder ?? 'its deletion'}`);
      }
      this.held.set(messageId, receiver);
    }

    giveBack(messageId: string): void {
      this.held.delete(messageId);
    }

    delete(messageId: string, outcome: string | undefined): void {
      if (outcome !== 'deleted') {
        this.faults.push(`${messageId}: deleting it by its only holder answered ${outcome}`);
      }
      this.held.delete(messageId);
      this.deleted.add(messageId);
    }
  }

  it('hand 10 000 messages to 20 receivers, each to one at a time, and lose none', async () => {
    const count = 10_000;
    const queueId = await createQueue(pool);
    const sent: string[] = [];
    for (let from = 0; from < count; from += 1_000) {
      sent.push(...(await send(pool, queueId, numbered(1_000))));
    }
    const holders = new Holders();

    async function work(receiver: number): Promise<void> {
      const session = await pool.connect();
      try {
        for (let round = 1; holders.deleted.size < count; round += 1) {
          const isRolledBack = (round + receiver) % 7 === 0;
          const isGivenBack = !isRolledBack && (round + receiver) % 11 === 0;
          if (isRolledBack) {
            await session.query('begin');
          }
          const received = await receive(session, queueId, { visibilityTimeoutSeconds: 3_600 });
          const ids = received.map(({ messageId }) => messageId);
          const handles = received.map(({ receiptHandle }) => receiptHandle);
          for (const id of ids) {
            holders.take(receiver, id);
          }
          if (isRolledBack || isGivenBack) {
            for (const id of ids) {
              holders.giveBack(id);
            }
          }
          if (isRolledBack) {
            await session.query('rollback');
          } else if (isGivenBack) {
            const changes = handles.map((receiptHandle) => ({ receiptHandle, timeoutSeconds: 0 }));
            await changeVisibility(session, queueId, changes);
          } else if (received.length > 0) {
            const outcomes = await deleteMessages(session, queueId, handles);
            for (const [index, id] of ids.entries()) {
              holders.delete(id, outcomes[index]);
            }
          } else {
            await sleep(5);
          }
        }
      } finally {
        session.release();
      }
    }

    await Promise.all(Array.from({ length: 20 }, (_, receiver) => work(receiver)));
    expect(holders.faults).toEqual([]);
    expect([...holders.deleted].sort()).toEqual(sent.sort());
    expect(await countMessages(pool, queueId)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });

  it('pass over messages that another transaction is receiving, without waiting', async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, ['a', 'b', 'c']);
    const first = await openSession(database);
    await first.query('begin');
    const held = await receive(first, queueId, { limit: 2 });
    const second = await openSession(database);
    await second.query(`set lock_timeout = '500ms'`);
    const others = await receive(second, queueId);
    expect(others).toHaveLength(1);
    expect([...held, ...others].map(({ body }) => body).sort()).toEqual(['a', 'b', 'c']);
    await first.query('commit');
  });
});

it('takes milliseconds for one message, with no plan compiled to machine code', async () => {
  const queueId = await createQueue(pool);
  await send(pool, queueId, numbered(20));
  const session = await openSession(database);
  const durationsMs: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const startedAt = performance.now();
    await receiveOne(session, queueId);
    durationsMs.push(performance.now() - startedAt);
  }
  durationsMs.sort((a, b) => a - b);
  // Compiling takes a hundred, the rest less than one.
  expect(durationsMs[5]).toBeLessThan(20);
});

it('leaves its messages visible and uncounted when its transaction is rolled back', async () => {
  const queueId = await createQueue(pool);
  await send(pool, queueId, ['a']);
  const session = await openSession(database);
  await session.query('begin');
  const lost = await receiveOne(session, queueId, { visibilityTimeoutSeconds: 3_600 });
  await session.query('rollback');

  expect(await countMessages(pool, queueId)).toEqual({ visible: 1, inFlight: 0, delayed: 0 });
  const again = await receiveOne(pool, queueId);
  expect(again).toMatchObject({ body: 'a', receiveCount: 1 });
  expect(again.receiptHandle).not.toBe(lost.receiptHandle);
  expect(await deleteMessages(pool, queueId, [lost.receiptHandle])).toEqual(['missing']);
});

it('gives no message twice in one answer with a visibility timeout of 0', async () => {
  const queueId = await createQueue(pool);
  await send(pool, queueId, ['a', 'b', 'c']);
  for (let round = 1; round <= 3; round += 1) {
    const received = await receive(pool, queueId, { visibilityTimeoutSeconds: 0 });
    expect(received.map(({ body }) => body).sort()).toEqual(['a', 'b', 'c']);
    expect(received.map(({ receiveCount }) => receiveCount)).toEqual([round, round, round]);
  }
});

describe('time', () => {
  it('hides a delayed message until the moment it is due', async () => {
    const queueId = await createQueue(pool, { delay_seconds: 60 });
    await send(pool, queueId, ['own', 'queue', 'none'], {
      delaysSeconds: [10, undefined, 0],
      now: start,
    });
    const bodiesAt = (now: Date) =>
      bodiesOf(receive(pool, queueId, { visibilityTimeoutSeconds: 3_600, now }));
    expect(await countMessages(pool, queueId, start)).toMatchObject({ visible: 1, delayed: 2 });
    expect(await bodiesAt(start)).toEqual(['none']);
    expect(await bodiesAt(new Date(later(10).getTime() - 1))).toEqual([]);
    expect(await bodiesAt(later(10))).toEqual(['own']);
    expect(await bodiesAt(later(59))).toEqual([]);
    expect(await bodiesAt(later(60))).toEqual(['queue']);
  });

  it("hides a received message for the receive's timeout, else the queue's", async () => {
    const queueId = await createQueue(pool, { visibility_timeout_seconds: 30 });
    await send(pool, queueId, ['a'], { now: start });
    await receiveOne(pool, queueId, { now: start });
    expect(await receive(pool, queueId, { now: later(29.999) })).toEqual([]);
    await receiveOne(pool, queueId, { now: later(30), visibilityTimeoutSeconds: 5 });
    expect(await receive(pool, queueId, { now: later(34.999) })).toEqual([]);
    const third = await receiveOne(pool, queueId, { now: later(35) });
    expect(third).toMatchObject({ receiveCount: 3, firstReceivedAt: start, sentAt: start });
    expect(await receive(pool, queueId, { now: later(64.999) })).toEqual([]);
    expect(await receive(pool, queueId, { now: later(65) })).toHaveLength(1);
  });

  it('counts a changed timeout from the change, for that receive only', async () => {
    const queueId = await createQueue(pool, { visibility_timeout_seconds: 30 });
    await send(pool, queueId, ['a'], { now: start });
    const { receiptHandle } = await receiveOne(pool, queueId, { now: start });
    const change = (timeoutSeconds: number, now: Date) =>
      changeVisibility(pool, queueId, [{ receiptHandle, timeoutSeconds }], now);
    expect(await change(60, later(20))).toEqual(['changed']);
    expect(await receive(pool, queueId, { now: later(79.999) })).toEqual([]);
    await receiveOne(pool, queueId, { now: later(80) });
    expect(await receive(pool, queueId, { now: later(109.999) })).toEqual([]);
    expect(await receive(pool, queueId, { now: later(110) })).toHaveLength(1);
    expect(await change(0, later(111))).toEqual(['changed']);
    expect(await receive(pool, queueId, { now: later(111) })).toHaveLength(1);
  });

  it('keeps a message hidden by a heartbeat for 12 hours from its receive and no longer', async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, ['a'], { now: start });
    const { receiptHandle } = await receiveOne(pool, queueId, { now: start });
    const change = (timeoutSeconds: number, now: Date) =>
      changeVisibility(pool, queueId, [{ receiptHandle, timeoutSeconds }], now);
    expect(await change(43_200, later(0.2))).toEqual(['too_long']);
    expect(await change(43_195, later(0.2))).toEqual(['changed']);
    for (let minute = 1; minute < 12 * 60; minute += 30) {
      expect(await change(90, later(minute * 60))).toEqual(['changed']);
      expect(await receive(pool, queueId, { now: later(minute * 60 + 89) })).toEqual([]);
    }
    expect(await change(1, later(43_199))).toEqual(['changed']);
    expect(await change(2, later(43_199))).toEqual(['too_long']);
    expect(await receive(pool, queueId, { now: later(43_199.999) })).toEqual([]);
    expect(await receive(pool, queueId, { now: later(43_200) })).toHaveLength(1);
  });

  it('never returns an expired message, though the janitor has not come by', async () => {
    const queueId = await createQueue(pool, { message_retention_seconds: 60 });
    await send(pool, queueId, ['old'], { now: start });
    await send(pool, queueId, ['new'], { now: later(30) });
    const options = { visibilityTimeoutSeconds: 0 };
    expect(await bodiesOf(receive(pool, queueId, { ...options, now: later(59.999) }))).toEqual([
      'new',
      'old',
    ]);
    expect(await bodiesOf(receive(pool, queueId, { ...options, now: later(60) }))).toEqual(['new']);
    expect(await receive(pool, queueId, { ...options, now: later(90) })).toEqual([]);
  });

  it('receives the longest visible messages first', async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, ['third', 'first', 'second'], {
      delaysSeconds: [30, 10, 20],
      now: start,
    });
    const bodies: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      bodies.push((await receiveOne(pool, queueId, { now: later(60) })).body);
    }
    expect(bodies).toEqual(['first', 'second', 'third']);
  });
});

describe('the in-flight limit', () => {
  const overLimit = { code: 'TQ002' };

  it('is exact while it is small', async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, numbered(10), { now: start });
    const options = { inFlightLimit: 5, visibilityTimeoutSeconds: 30 };
    const first = await receive(pool, queueId, { ...options, limit: 3, now: start });
    expect(first).toHaveLength(3);
    expect(await receive(pool, queueId, { ...options, now: later(1) })).toHaveLength(2);
    await expect(receive(pool, queueId, { ...options, now: later(1) })).rejects.toMatchObject(
      overLimit,
    );

    await deleteMessages(pool, queueId, [first[0]?.receiptHandle ?? '']);
    expect(await receive(pool, queueId, { ...options, now: later(1) })).toHaveLength(1);
    await expect(receive(pool, queueId, { ...options, now: later(1) })).rejects.toMatchObject(
      overLimit,
    );
    // Those two of the first three that are left come back.
    expect(await receive(pool, queueId, { ...options, now: later(30) })).toHaveLength(2);
  });

  it('does not count delayed and stored messages', async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, numbered(5), { delaysSeconds: Array(5).fill(900) });
    await send(pool, queueId, numbered(5));
    expect(await receive(pool, queueId, { inFlightLimit: 1 })).toHaveLength(1);
  });

  describe('of a queue with a sample', () => {
    const limit = 50_000;
    const visible = 6_000;
    let queueId: string;

    beforeAll(async () => {
      queueId = await createQueue(pool);
      for (let sent = 0; sent < limit + visible; sent += 8_000) {
        await send(pool, queueId, numbered(8_000), { now: start });
      }
      await pool.query(
        `update trunkline.messages
        set receive_count = 1, visible_at = $3
        where queue_id = $1 and id in (select id from trunkline.messages where queue_id = $1 limit $2)`,
        [queueId, limit, later(3_600)],
      );
    });

    /** By a count nothing can be received. By a sample there is room for what it leaves. */
    async function received(sample: number, ageSeconds: number, inFlightLimit = limit) {
      const client = await pool.connect();
      try {
        await client.query('begin');
        await client.query(
          `insert into trunkline.queue_progress (queue_id, in_flight_sample, sampled_at)
          values ($1, $2, $3)
          on conflict (queue_id) do update set in_flight_sample = $2, sampled_at = $3`,
          [queueId, sample, start],
        );
        const options = { limit: visible, inFlightLimit, now: later(ageSeconds) };
        return (await receive(client, queueId, options)).length;
      } finally {
        await client.query('rollback');
        client.release();
      }
    }

    it('goes by one of the last two seconds below nine tenths of it', async () => {
      expect(await received(44_999, 2)).toBe(5_001);
      await expect(received(44_999, 2.001)).rejects.toMatchObject(overLimit);
      await expect(received(45_000, 1)).rejects.toMatchObject(overLimit);
    });

    it('goes by one of the last four seconds below half of it', async () => {
      expect(await received(24_999, 4)).toBe(visible);
      await expect(received(24_999, 4.001)).rejects.toMatchObject(overLimit);
      await expect(received(25_000, 3)).rejects.toMatchObject(overLimit);
    });

    it('goes by one below a tenth of it when it is low', async () => {
      expect(await received(999, 2, 10_000)).toBe(visible);
      await expect(received(1_000, 1, 10_000)).rejects.toMatchObject(overLimit);
      await expect(received(0, 1, 9_999)).rejects.toMatchObject(overLimit);
    });
  });

  // Settling waits for every transaction of the whole PostgreSQL that is writing.
  it('is sampled by settling', { timeout: 90_000 }, async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, numbered(20));
    await receive(pool, queueId, { limit: 7 });
    await expect
      .poll(
        async () => {
          await settle(pool);
          const { rows } = await pool.query<{ in_flight_sample: string }>(
            'select in_flight_sample from trunkline.queue_progress where queue_id = $1',
            [queueId],
          );
          return rows[0]?.in_flight_sample;
        },
        { timeout: 60_000 },
      )
      .toBe('7');
    expect(await receive(pool, queueId, { inFlightLimit: inFlightQuota })).toHaveLength(10);
  });
});
