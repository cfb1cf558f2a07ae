import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { useDatabase } from '../support/database.ts';
import {
  bodiesOf,
  type Connection,
  changeVisibility,
  countMessages,
  createQueue,
  deleteMessages,
  type Instant,
  inFlightQuota,
  openSession,
  receive,
  receiveOne,
  rescan,
  send,
  settle,
} from './calls.ts';

// Settling waits for every transaction of the whole PostgreSQL that is writing.
const settledWithinMs = 60_000;
vi.setConfig({ testTimeout: 90_000 });

/** Time is moved by hand here, and never back: what is settled stays settled. */
const database = useDatabase();
const { pool } = database;

/** For tests on the database's clock, which the one above is far ahead of. */
const clockDatabase = useDatabase();

let nowMs = Date.UTC(2030, 0);

function now(): Date {
  return new Date(nowMs);
}

function pass(seconds: number): void {
  nowMs += seconds * 1000;
}

async function visibleFromMs(connection: Connection, queueId: string): Promise<number> {
  const { rows } = await connection.query<{ visible_from_ms: string }>(
    `select extract(epoch from visible_from) * 1000 as visible_from_ms
    from trunkline.queue_progress
    where queue_id = $1`,
    [queueId],
  );
  return Number(rows[0]?.visible_from_ms ?? Number.NEGATIVE_INFINITY);
}

/** Sends, receives and deletes: what a mark moves over. */
async function traffic(queueId: string, count = 1, at: Instant = now()): Promise<void> {
  await send(pool, queueId, Array(count).fill('traffic'), { now: at });
  const received = await receive(pool, queueId, { limit: count, now: at });
  await deleteMessages(
    pool,
    queueId,
    received.map(({ receiptHandle }) => receiptHandle),
  );
}

/**
 * Settles until the mark has come to a time, which takes until every transaction of the whole PostgreSQL
 * that is writing now has ended.
 */
async function settleUntil(queueId: string, atLeastMs: number): Promise<void> {
  await expect
    .poll(
      async () => {
        await traffic(queueId);
        pass(1);
        await settle(pool, now());
        return await visibleFromMs(pool, queueId);
      },
      { timeout: settledWithinMs, interval: 5 },
    )
    .toBeGreaterThanOrEqual(atLeastMs);
}

interface LateCommit {
  what: string;
  /** What the transaction does before the past is settled, and between two times it is. */
  before?: (session: Client, queueId: string) => Promise<unknown>;
  between?: (session: Client, queueId: string) => Promise<unknown>;
}

const lateCommits: LateCommit[] = [
  {
    what: 'sent at once',
    before: (session, queueId) => send(session, queueId, ['late'], { now: now() }),
  },
  {
    what: 'sent after its transaction id was taken',
    before: (session) => session.query('select pg_current_xact_id()'),
    between: (session, queueId) => send(session, queueId, ['late'], { now: now() }),
  },
  {
    what: 'sent within a savepoint',
    before: async (session, queueId) => {
      await session.query('savepoint inner_work');
      await send(session, queueId, ['late'], { now: now() });
    },
  },
  {
    what: 'sent with a delay that is over by then',
    before: (session, queueId) =>
      send(session, queueId, ['late'], { delaysSeconds: [5], now: now() }),
  },
];

describe('a message that is committed after the past was settled is delivered and counted', () => {
  const rounds = 5;

  async function commitLate(
    { before, between }: LateCommit,
    isQuiet: boolean,
    queueId: string,
  ): Promise<void> {
    // So that the next time has something to settle of this queue, and the one after it too.
    await traffic(queueId);
    await settle(pool, now());
    await traffic(queueId);
    pass(1);
    const session = await openSession(database);
    await session.query('begin');
    await before?.(session, queueId);
    for (let round = 1; round <= rounds; round += 1) {
      pass(10);
      if (!isQuiet) {
        await traffic(queueId);
      }
      await settle(pool, now());
      if (round === 2) {
        await between?.(session, queueId);
      }
    }
    await session.query('commit');
  }

  async function expectDelivered(queueId: string): Promise<void> {
    for (let round = 1; round <= 2; round += 1) {
      pass(60);
      await settle(pool, now());
      expect(await countMessages(pool, queueId, now())).toEqual({
        visible: 1,
        inFlight: 0,
        delayed: 0,
      });
      const options = { visibilityTimeoutSeconds: 0, now: now() };
      expect(await bodiesOf(receive(pool, queueId, options))).toEqual(['late']);
    }
  }

  describe.each([
    ['a quiet queue', true],
    ['a busy queue', false],
  ])('in %s', (_name, isQuiet) => {
    it.each(lateCommits)('when it is $what', async (lateCommit) => {
      const queueId = await createQueue(pool);
      await commitLate(lateCommit, isQuiet, queueId);
      await expectDelivered(queueId);
    });

    it('when its visibility is changed to 0 in a long transaction', async () => {
      const queueId = await createQueue(pool);
      await send(pool, queueId, ['late'], { now: now() });
      const { receiptHandle } = await receiveOne(pool, queueId, {
        visibilityTimeoutSeconds: 43_200,
        now: now(),
      });
      const release = (session: Client) =>
        changeVisibility(session, queueId, [{ receiptHandle, timeoutSeconds: 0 }], now());
      await commitLate({ what: 'released', before: release }, isQuiet, queueId);
      await expectDelivered(queueId);
    });

    it('when a long transaction that received it is rolled back', async () => {
      const queueId = await createQueue(pool);
      await traffic(queueId);
      await send(pool, queueId, ['late'], { now: now() });
      const session = await openSession(database);
      await session.query('begin');
      await receiveOne(session, queueId, { now: now() });
      for (let round = 1; round <= rounds; round += 1) {
        pass(10);
        if (!isQuiet) {
          await traffic(queueId);
        }
        await settle(pool, now());
      }
      await session.query('rollback');
      await expectDelivered(queueId);
    });
  });

  it('when senders take their time while others settle, on the clock', async () => {
    const queueId = await createQueue(clockDatabase.pool);
    const untilMs = performance.now() + 2_500;
    const sent = new Set<string>();
    const received: string[] = [];
    const sessions = await Promise.all(Array.from({ length: 6 }, () => openSession(clockDatabase)));
    let openSenders = sessions.length;

    async function sendSlowly(session: Client): Promise<void> {
      while (performance.now() < untilMs) {
        await session.query('begin');
        const ids = await send(session, queueId, ['a', 'b']);
        await sleep(Math.random() * 60);
        const isCommitted = Math.random() < 0.7;
        await session.query(isCommitted ? 'commit' : 'rollback');
        for (const id of isCommitted ? ids : []) {
          sent.add(id);
        }
      }
      openSenders -= 1;
    }

    async function consume(): Promise<void> {
      for (let isDone = false; !isDone; ) {
        const areSendersDone = openSenders === 0;
        const messages = await receive(clockDatabase.pool, queueId);
        received.push(...messages.map(({ messageId }) => messageId));
        await deleteMessages(
          clockDatabase.pool,
          queueId,
          messages.map(({ receiptHandle }) => receiptHandle),
        );
        isDone = areSendersDone && messages.length === 0;
        await sleep(2);
      }
    }

    async function settleOften(): Promise<void> {
      while (openSenders > 0) {
        await settle(clockDatabase.pool);
        await sleep(3);
      }
    }

    const senders = sessions.map(sendSlowly);
    await Promise.all([...senders, consume(), consume(), settleOften(), settleOften()]);
    expect(received.sort()).toEqual([...sent].sort());
    expect(await countMessages(clockDatabase.pool, queueId)).toEqual({
      visible: 0,
      inFlight: 0,
      delayed: 0,
    });
  });
});

describe('the mark', () => {
  it('follows the messages that are consumed', async () => {
    const queueId = await createQueue(pool);
    const startMs = nowMs;
    await settleUntil(queueId, startMs + 1);
    const before = await visibleFromMs(pool, queueId);
    pass(60);
    await settleUntil(queueId, before + 60_000);
  });

  it('stops at a message that is visible and waits', async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, ['waits'], { now: now() });
    const waitsSinceMs = nowMs;
    const other = await createQueue(pool);
    for (let round = 1; round <= 5; round += 1) {
      pass(10);
      await send(pool, queueId, ['behind'], { now: now() });
      await settleUntil(other, nowMs);
      await settle(pool, now());
    }
    expect(await visibleFromMs(pool, queueId)).toBe(waitsSinceMs);
    expect(await receiveOne(pool, queueId, { now: now() })).toMatchObject({ body: 'waits' });
  });

  it('is not held back by a snapshot that only reads', async () => {
    const queueId = await createQueue(pool);
    await traffic(queueId);
    const reader = await openSession(database);
    await reader.query('begin isolation level repeatable read');
    await reader.query('select count(*) from trunkline.messages');
    await settleUntil(queueId, nowMs + 1);
    await reader.query('commit');
  });

  it('is held back by a transaction that has written', async () => {
    const queueId = await createQueue(pool);
    await traffic(queueId);
    const writer = await openSession(database);
    await writer.query('begin');
    await send(writer, queueId, ['open'], { now: now() });
    const sentAtMs = nowMs;
    for (let round = 1; round <= 5; round += 1) {
      pass(10);
      await traffic(queueId);
      await settle(pool, now());
    }
    expect(await visibleFromMs(pool, queueId)).toBeLessThanOrEqual(sentAtMs);
    await writer.query('rollback');
    await settleUntil(queueId, sentAtMs + 10_000);
  });

  it('keeps receiving as cheap under an old snapshot, whatever was consumed', async () => {
    const queueId = await createQueue(pool);
    const reader = await openSession(database);
    await reader.query('begin isolation level repeatable read');
    await reader.query('select count(*) from trunkline.messages');
    const receiver = await openSession(database);

    /** Blocks of 8 KiB that receiving one message looks at. The first look after a vacuum reads the catalogue. */
    async function buffersOfReceive(): Promise<number> {
      return Math.min(await buffersOfOneReceive(), await buffersOfOneReceive());
    }

    async function buffersOfOneReceive(): Promise<number> {
      await send(pool, queueId, ['measured'], { now: now() });
      const { rows } = await receiver.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, format json)
        select * from trunkline._receive_messages(trunkline._require_queue($1), 10, 30, ${inFlightQuota}, $2)`,
        [queueId, now()],
      );
      const plan = rows[0]?.['QUERY PLAN'][0].Plan;
      return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
    }

    async function consume(count: number): Promise<number> {
      for (let done = 0; done < count; done += 500) {
        pass(1);
        await traffic(queueId, 500);
      }
      await settleUntil(queueId, nowMs);
      return await buffersOfReceive();
    }

    // A session's first calls read the catalogue.
    await consume(500);
    const few = await consume(500);
    const many = await consume(10_000);
    // Without the mark it is thousands: a page for each consumed message or two.
    expect(many).toBeLessThan(few + 50);
    await reader.query('commit');
  });

  it('is lowered by a rescan when it has passed a message', async () => {
    const queueId = await createQueue(pool);
    await traffic(queueId);
    await settleUntil(queueId, nowMs);
    // As a clock that was set back does.
    const before = new Date((await visibleFromMs(pool, queueId)) - 5_000);
    await send(pool, queueId, ['passed'], { now: before });
    expect(await receive(pool, queueId, { now: now() })).toEqual([]);
    expect(await rescan(pool)).toContain(queueId);
    expect(await bodiesOf(receive(pool, queueId, { now: now() }))).toEqual(['passed']);
    expect(await rescan(pool)).toEqual([]);
  });
});

describe('counts', () => {
  it('are exact at every moment of sends, deletes, rollbacks and folding', async () => {
    const { pool } = clockDatabase;
    const queueId = await createQueue(pool);
    const untilMs = performance.now() + 2_500;
    const isOver = () => performance.now() > untilMs;

    async function work(worker: number): Promise<void> {
      const session = await openSession(clockDatabase);
      for (let round = worker; !isOver(); round += 1) {
        await session.query('begin');
        await send(session, queueId, Array((round % 9) + 1).fill('a'), {
          delaysSeconds: Array((round % 9) + 1).fill(round % 4 === 0 ? 900 : 0),
        });
        const received = await receive(session, queueId, { visibilityTimeoutSeconds: 600 });
        const handles = received.slice(0, 5).map(({ receiptHandle }) => receiptHandle);
        await deleteMessages(session, queueId, handles);
        await session.query(round % 3 === 0 ? 'rollback' : 'commit');
      }
    }

    async function settleOften(): Promise<void> {
      while (!isOver()) {
        await settle(pool);
        await sleep(5);
      }
    }

    let comparisons = 0;
    async function compare(): Promise<void> {
      // One statement, so one snapshot.
      const { rows } = await pool.query<Record<'counted' | 'stored', Record<string, number>>>(
        `with instant as materialized (select clock_timestamp() as at)
        select
          (
            select jsonb_build_object('visible', visible, 'in_flight', in_flight, 'delayed', delayed)
            from trunkline._queue_counts($1, instant.at)
          ) as counted,
          (
            select jsonb_build_object(
              'visible', count(*) filter (where visible_at <= instant.at),
              'in_flight', count(*) filter (where visible_at > instant.at and receive_count > 0),
              'delayed', count(*) filter (where visible_at > instant.at and receive_count = 0)
            )
            from trunkline.messages
            where queue_id = $1
          ) as stored
        from instant`,
        [queueId],
      );
      expect(rows[0]?.counted).toEqual(rows[0]?.stored);
      comparisons += 1;
    }

    async function compareOften(): Promise<void> {
      while (!isOver()) {
        await compare();
      }
    }

    const workers = Array.from({ length: 6 }, (_, worker) => work(worker));
    await Promise.all([...workers, settleOften(), settleOften(), compareOften()]);
    for (let round = 0; round < 5; round += 1) {
      await settle(pool);
      await compare();
    }
    expect(comparisons).toBeGreaterThan(20);
  });

  it('fold into one row and leave no deltas behind', async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, ['a', 'b', 'c'], { now: now() });
    await expect
      .poll(
        async () => {
          pass(1);
          await settle(pool, now());
          const { rows } = await pool.query(
            'select from trunkline.count_deltas where queue_id = $1',
            [queueId],
          );
          return rows.length;
        },
        { timeout: settledWithinMs, interval: 5 },
      )
      .toBe(0);
    expect(await countMessages(pool, queueId, now())).toMatchObject({ visible: 3 });
  });
});
