import { describe, expect, it, vi } from 'vitest';
import { clearDiscardedService, expireService } from '../../src/maintenance/services.ts';
import { useDatabase } from '../support/database.ts';
import {
  bodiesOf,
  clearDiscardedQueues,
  countMessages,
  countRows,
  createQueue,
  deleteMessages,
  deleteQueue,
  expireMessages,
  openSession,
  purgeQueue,
  receive,
  send,
} from './calls.ts';

const database = useDatabase();
const { pool } = database;

// Forgetting a queue waits for every transaction of the whole PostgreSQL that is writing.
const forgottenWithinMs = 60_000;
vi.setConfig({ testTimeout: 90_000 });

const start = new Date('2020-01-01T00:00:00Z');

function later(seconds: number): Date {
  return new Date(start.getTime() + seconds * 1000);
}

async function isForgotten(queueId: string): Promise<boolean> {
  const { rows } = await pool.query('select from trunkline.discarded_queues where queue_id = $1', [
    queueId,
  ]);
  return rows.length === 0;
}

/** Removes everything that a run of the janitor can; answers the sizes of its batches. */
async function removeInBatches(remove: () => Promise<number>): Promise<number[]> {
  const batches: number[] = [];
  for (let removed = await remove(); removed > 0; removed = await remove()) {
    batches.push(removed);
  }
  return batches;
}

describe('expired messages', () => {
  it('are removed in batches of the size asked for, the others left', async () => {
    const queueId = await createQueue(pool, { message_retention_seconds: 60 });
    await send(pool, queueId, Array(25).fill('old'), { now: start });
    await send(pool, queueId, ['delayed'], { delaysSeconds: [900], now: start });
    await receive(pool, queueId, { limit: 3, visibilityTimeoutSeconds: 900, now: start });
    await send(pool, queueId, ['young'], { now: later(1) });
    expect(await removeInBatches(() => expireMessages(pool, 10, later(59)))).toEqual([]);
    const batches = await removeInBatches(() => expireMessages(pool, 10, later(60)));
    expect(Math.max(...batches)).toBeLessThanOrEqual(10);
    expect(batches.reduce((sum, batch) => sum + batch, 0)).toBe(26);
    expect(await countRows(pool, queueId)).toBe(1);
    expect(await countMessages(pool, queueId, later(60))).toEqual({
      visible: 1,
      inFlight: 0,
      delayed: 0,
    });
    expect(await bodiesOf(receive(pool, queueId, { now: later(60) }))).toEqual(['young']);
    await deleteQueue(pool, queueId, start);
  });

  it('are removed by one session at a time', async () => {
    const queueId = await createQueue(pool, { message_retention_seconds: 60 });
    await send(pool, queueId, Array(5).fill('old'), { now: start });
    const first = await openSession(database);
    await first.query('begin');
    expect(await expireMessages(first, 2, later(60))).toBe(2);
    expect(await expireMessages(pool, 10, later(60))).toBe(0);
    await first.query('commit');
    expect(await expireMessages(pool, 10, later(60))).toBe(3);
    await deleteQueue(pool, queueId, start);
  });

  it('are left for the next time while somebody has them locked, without waiting', async () => {
    const queueId = await createQueue(pool, { message_retention_seconds: 60 });
    await send(pool, queueId, ['a', 'b', 'c'], { now: start });
    const holder = await openSession(database);
    await holder.query('begin');
    const held = await receive(holder, queueId, { limit: 2, now: start });
    const janitor = await openSession(database);
    await janitor.query(`set lock_timeout = '500ms'`);
    expect(await expireMessages(janitor, 10, later(60))).toBe(1);
    const deletion = deleteMessages(
      holder,
      queueId,
      held.slice(0, 1).map(({ receiptHandle }) => receiptHandle),
    );
    expect(await deletion).toEqual(['deleted']);
    await holder.query('commit');
    expect(await expireMessages(janitor, 10, later(60))).toBe(1);
    expect(await countMessages(pool, queueId, later(60))).toMatchObject({
      visible: 0,
      inFlight: 0,
    });
    await deleteQueue(pool, queueId, start);
  });

  it('go by the service, which comes back soon while there is more', async () => {
    const queueId = await createQueue(pool, { message_retention_seconds: 60 });
    await send(pool, queueId, Array(3_000).fill('old'), { now: start });
    const service = expireService(pool);
    expect(await service.runOnce()).toBeLessThan(1_000);
    expect(await countRows(pool, queueId)).toBeGreaterThan(0);
    while ((await service.runOnce()) < 1_000) {
      // More to remove.
    }
    expect(await countRows(pool, queueId)).toBe(0);
    await deleteQueue(pool, queueId, start);
  });
});

describe('what is left of purged and deleted queues', () => {
  it.each([
    ['purged', purgeQueue],
    ['deleted', deleteQueue],
  ])('of a %s queue is removed in batches, then forgotten', async (_what, discard) => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, Array(25).fill('a'), { now: start });
    await discard(pool, queueId, start);
    const batches = await removeInBatches(() => clearDiscardedQueues(pool, 10, later(61)));
    expect(Math.max(...batches)).toBeLessThanOrEqual(10);
    expect(await countRows(pool, queueId)).toBe(0);
    await expect
      .poll(
        async () => {
          await clearDiscardedQueues(pool, 10, later(61));
          return await isForgotten(queueId);
        },
        { timeout: forgottenWithinMs },
      )
      .toBe(true);
    const { rows } = await pool.query(
      `select queue_id from trunkline.queue_progress where queue_id = $1
      union all
      select queue_id from trunkline.count_deltas where queue_id = $1`,
      [queueId],
    );
    expect(rows).toEqual([]);
  });

  it('is remembered for the longest cooldown of its name', async () => {
    const queueId = await createQueue(pool);
    await deleteQueue(pool, queueId, start);
    await clearDiscardedQueues(pool, 10, later(60));
    expect(await isForgotten(queueId)).toBe(false);
  });

  it('is removed by one session at a time', async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, Array(5).fill('a'));
    await deleteQueue(pool, queueId, start);
    const first = await openSession(database);
    await first.query('begin');
    expect(await clearDiscardedQueues(first, 2)).toBe(2);
    expect(await clearDiscardedQueues(pool, 2)).toBe(0);
    await first.query('commit');
    expect(await clearDiscardedQueues(pool, 10)).toBe(3);
  });

  it('is left for the next time while somebody has it locked, without waiting', async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, ['a', 'b', 'c']);
    const holder = await openSession(database);
    await holder.query('begin');
    await receive(holder, queueId, { limit: 2 });
    await deleteQueue(pool, queueId, start);
    const janitor = await openSession(database);
    await janitor.query(`set lock_timeout = '500ms'`);
    await removeInBatches(() => clearDiscardedQueues(janitor, 10, later(61)));
    expect(await countRows(pool, queueId)).toBe(2);
    expect(await isForgotten(queueId)).toBe(false);
    await holder.query('commit');
    await removeInBatches(() => clearDiscardedQueues(janitor, 10, later(61)));
    expect(await countRows(pool, queueId)).toBe(0);
  });

  it('includes messages of a transaction that was open before the deletion', async () => {
    const queueId = await createQueue(pool);
    const sender = await openSession(database);
    await sender.query('begin');
    await send(sender, queueId, ['late']);
    await deleteQueue(pool, queueId, start);
    await clearDiscardedQueues(pool, 10, later(61));
    await clearDiscardedQueues(pool, 10, later(62));
    await sender.query('commit');
    await clearDiscardedQueues(pool, 10, later(63));
    expect(await countRows(pool, queueId)).toBe(0);
  });

  it('includes messages of a transaction that began while the deletion was not committed', async () => {
    const queueId = await createQueue(pool);
    const deleter = await openSession(database);
    await deleter.query('begin');
    await deleteQueue(deleter, queueId, start);
    const sender = await openSession(database);
    await sender.query('begin');
    await send(sender, queueId, ['late']);
    await deleter.query('commit');
    await clearDiscardedQueues(pool, 10, later(61));
    await clearDiscardedQueues(pool, 10, later(62));
    await sender.query('commit');
    await clearDiscardedQueues(pool, 10, later(63));
    expect(await countRows(pool, queueId)).toBe(0);
  });

  it('keeps nobody waiting, with a million messages', { timeout: 120_000 }, async () => {
    const count = 1_000_000;
    const big = await createQueue(pool);
    await pool.query(
      `insert into trunkline.messages (queue_id, id, visible_at, sent_at, message_id, sender_id, body)
      select
        $1, nextval('trunkline.message_ids'), clock_timestamp(), clock_timestamp(),
        '00000000-0000-4000-8000-000000000000', 'sender', 'body'
      from generate_series(1, ${count})`,
      [big],
    );
    const busy = await createQueue(pool);
    const deletionStartedAt = performance.now();
    await deleteQueue(pool, big);
    const deletionMs = performance.now() - deletionStartedAt;

    let isCleared = false;
    async function clear(): Promise<void> {
      // The service's own batches, without its pauses.
      const service = clearDiscardedService(pool);
      while ((await service.runOnce()) < 1_000) {
        // More to remove.
      }
      isCleared = true;
    }

    const durationsMs: number[] = [];
    async function useAnotherQueue(): Promise<void> {
      const session = await openSession(database);
      const timed = async <Result>(work: Promise<Result>): Promise<Result> => {
        const startedAt = performance.now();
        const result = await work;
        durationsMs.push(performance.now() - startedAt);
        return result;
      };
      while (!isCleared) {
        await timed(send(session, busy, ['a']));
        const received = await timed(receive(session, busy));
        const handles = received.map(({ receiptHandle }) => receiptHandle);
        await timed(deleteMessages(session, busy, handles));
        await timed(countMessages(session, busy));
      }
    }

    const lockWaits: string[] = [];
    async function watchLocks(): Promise<void> {
      const session = await openSession(database);
      while (!isCleared) {
        const { rows } = await session.query<{ query: string }>(
          `select waiting.query
          from pg_stat_activity as waiting
          where waiting.datname = current_database()
            and waiting.wait_event_type = 'Lock'
            and exists (
              select
              from pg_stat_activity as blocking
              where blocking.pid = any (pg_blocking_pids(waiting.pid))
                and blocking.query like '%_clear_discarded_queues%'
            )`,
        );
        lockWaits.push(...rows.map(({ query }) => query));
      }
    }

    await Promise.all([clear(), useAnotherQueue(), useAnotherQueue(), watchLocks()]);
    expect(deletionMs).toBeLessThan(1_000);
    expect(lockWaits).toEqual([]);
    expect(Math.max(...durationsMs)).toBeLessThan(1_000);
    expect(await countRows(pool, big)).toBe(0);
  });
});
