import { describe, expect, it } from 'vitest';
import { countMessages, expireMessages, purgeQueue, rescan, settle } from '../engine/calls.ts';
import { useDatabase } from '../support/database.ts';
import {
  configure,
  createFifoQueue,
  deleteAll,
  forgetHistory,
  groupRows,
  receive,
  receiveBodies,
  send,
  sendAll,
} from './calls.ts';

const database = useDatabase();
const { pool } = database;

const start = new Date('2030-01-01T00:00:00Z');

function later(seconds: number): Date {
  return new Date(start.getTime() + seconds * 1000);
}

/** Rows of deduplication ids, receive attempts and groups. */
async function historyRows(queueId: string): Promise<number | undefined> {
  const { rows } = await pool.query<{ count: number }>(
    `select (
      (select count(*) from trunkline.deduplications where queue_id = $1)
      + (select count(*) from trunkline.receive_attempts where queue_id = $1)
      + (select count(*) from trunkline.message_groups where queue_id = $1)
      + (select count(*) from trunkline.message_group_names where queue_id = $1)
    )::integer as count`,
    [queueId],
  );
  return rows[0]?.count;
}

describe('Messages past their retention', () => {
  it('are removed though their group went on and its row is gone', async () => {
    const queueId = await createFifoQueue(pool, { message_retention_seconds: 60 });
    await send(pool, queueId, 'g', 'expired', { now: start });
    const now = later(61);
    await send(pool, queueId, 'g', 'next', { now });
    const [next] = await receive(pool, queueId, { now });
    expect(next?.body).toBe('next');
    const handles = [next?.receiptHandle ?? ''];
    await deleteAll(pool, queueId, handles, { isOwnTransaction: true, now });
    await forgetHistory(pool, 100, now);
    await expireMessages(pool, 100, now);
    expect(await countMessages(pool, queueId, now)).toEqual({
      visible: 0,
      inFlight: 0,
      delayed: 0,
    });
    await forgetHistory(pool, 100, later(400));
    await forgetHistory(pool, 100, later(460));
    expect(await groupRows(pool, queueId)).toEqual({});
  });

  it('do not come back by a repeated receive', async () => {
    const queueId = await createFifoQueue(pool, { message_retention_seconds: 60 });
    await send(pool, queueId, 'g', 'expired', { now: start });
    const options = { attemptId: 'a', visibilityTimeoutSeconds: 60 };
    await receive(pool, queueId, { ...options, now: later(50) });
    const repeat = receive(pool, queueId, { ...options, now: later(70) });
    await expect(repeat).rejects.toMatchObject({ code: 'TQ005' });
  });

  it('come back when the retention is made longer before they are removed', async () => {
    const queueId = await createFifoQueue(pool, { message_retention_seconds: 60 });
    await send(pool, queueId, 'g', '1', { now: start });
    expect(await receive(pool, queueId, { now: later(61) })).toEqual([]);
    await forgetHistory(pool, 100, later(61));
    expect(await groupRows(pool, queueId)).toEqual({ g: 'drained' });
    await configure(pool, queueId, { message_retention_seconds: 3_600 });
    expect(await receiveBodies(pool, queueId, { now: later(62) })).toEqual(['1']);
  });

  it('hold up their group no longer than until the janitor comes', async () => {
    const queueId = await createFifoQueue(pool, { message_retention_seconds: 60 });
    await send(pool, queueId, 'g', 'expired', { now: start });
    await receive(pool, queueId, { visibilityTimeoutSeconds: 3_600, now: start });
    await send(pool, queueId, 'g', 'next', { now: later(30) });
    const now = later(61);
    await expireMessages(pool, 100, now);
    expect(await receiveBodies(pool, queueId, { now })).toEqual(['next']);
  });
});

describe('The janitor', () => {
  it('leaves no row of ids, attempts and groups whose time is over', async () => {
    const queueId = await createFifoQueue(pool);
    const messages = Array.from({ length: 20 }, (_, index) => ({
      group: `g${index}`,
      deduplicationId: `d${index}`,
    }));
    await sendAll(pool, queueId, messages, { now: start });
    for (const attemptId of ['a', 'b']) {
      const received = await receive(pool, queueId, { attemptId, now: start });
      const handles = received.map(({ receiptHandle }) => receiptHandle);
      await deleteAll(pool, queueId, handles, { now: start });
    }
    expect(await historyRows(queueId)).toBe(62);
    // The groups are seen to be empty, and a minute later they go.
    await forgetHistory(pool, 1_000, later(239));
    expect(await historyRows(queueId)).toBe(62);
    await forgetHistory(pool, 1_000, later(299));
    expect(await historyRows(queueId)).toBe(22);
    await forgetHistory(pool, 1_000, later(300));
    expect(await historyRows(queueId)).toBe(0);
  });

  it('takes no more than it was told to at a time', async () => {
    const queueId = await createFifoQueue(pool);
    await sendAll(
      pool,
      queueId,
      Array.from({ length: 10 }, (_, index) => ({ group: 'g', deduplicationId: `d${index}` })),
      { now: start },
    );
    const now = later(300);
    for (const left of [10 + 2 - 4, 10 + 2 - 8, 2, 2]) {
      await forgetHistory(pool, 4, now);
      expect(await historyRows(queueId)).toBe(left);
    }
    expect(await receive(pool, queueId, { now })).toHaveLength(10);
  });
});

describe('The rescan of low-water marks', () => {
  it('has nothing to say of a queue that was purged', async () => {
    const queueId = await createFifoQueue(pool);
    const [past, now] = [later(1_000), later(2_000)];
    await send(pool, queueId, 'g', '1', { now: past });
    await send(pool, queueId, 'g', '2', { now: past });
    await receive(pool, queueId, { limit: 1, visibilityTimeoutSeconds: 3_600, now: past });
    for (let round = 0; round < 3; round += 1) {
      await send(pool, queueId, 'h', `passing ${round}`, { now });
      const received = await receive(pool, queueId, { now });
      const handles = received.map(({ receiptHandle }) => receiptHandle);
      await deleteAll(pool, queueId, handles, { isOwnTransaction: true, now });
      await settle(pool, now);
    }
    await purgeQueue(pool, queueId, now);
    expect(await rescan(pool)).toEqual([]);
  });
});
