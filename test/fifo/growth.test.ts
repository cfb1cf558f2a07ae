import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { openSession, settle, settleAll } from '../engine/calls.ts';
import { useDatabase } from '../support/database.ts';
import {
  createFifoQueue,
  deleteAll,
  forgetHistory,
  receive,
  sendAll,
  sendCall,
  sendParameters,
} from './calls.ts';

/**
 * What a receive costs, in pages of the buffer cache that it touches: the same on any machine, and not
 * allowed to grow with what lies in the queue.
 */

const database = useDatabase();
const { pool } = database;

interface Contents {
  /** Groups with one message each, ready to be received. */
  readyGroups: number;
  /** Messages of one more group, whose head is in flight. */
  blockedMessages?: number;
}

/** A queue as it is after so many sends, and one receive of the large group's head. */
async function fill(contents: Contents): Promise<string> {
  const { readyGroups, blockedMessages = 0 } = contents;
  const queueId = await createFifoQueue(pool);
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('select pg_current_xact_id()');
    await client.query(
      `insert into trunkline.messages
        (queue_id, id, visible_at, sent_at, message_id, sender_id, group_id, deduplication_id, body)
      select
        $1, nextval('trunkline.message_ids'), clock_timestamp(), clock_timestamp(),
        gen_random_uuid(), 'sender', stored.group_id, 'id-' || number, 'body'
      from (
        select 'blocked' as group_id, number from generate_series(1, $2) as number
        union all
        select 'ready ' || number, number from generate_series(1, $3) as number
      ) as stored`,
      [queueId, blockedMessages, readyGroups],
    );
    await client.query(
      `insert into trunkline.message_groups (queue_id, group_id, head_id, visible_at)
      select queue_id, group_id, min(id), min(visible_at)
      from trunkline.messages
      where queue_id = $1
      group by queue_id, group_id`,
      [queueId],
    );
    await client.query(
      'insert into trunkline.count_deltas (queue_id, added, removed) values ($1, $2, 0)',
      [queueId, readyGroups + blockedMessages],
    );
    await client.query('commit');
  } finally {
    client.release();
  }
  if (blockedMessages > 0) {
    const head = await receive(pool, queueId, { limit: 1, visibilityTimeoutSeconds: 3_600 });
    expect(head).toMatchObject([{ group: 'blocked' }]);
  }
  return queueId;
}

function pagesIn(plan: string): number {
  const [, hit = 0, read = 0] = touched.exec(plan) ?? [];
  return Number(hit) + Number(read);
}

async function explain(session: Client, call: string, values: readonly unknown[]): Promise<number> {
  const { rows } = await session.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, buffers, timing off, costs off) select ${call}`,
    [...values],
  );
  return pagesIn(rows.map((row) => row['QUERY PLAN']).join('\n'));
}

const touched = /^\s*Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/m;

/** Pages that one receive of ten messages touches, which are left as they were. */
async function explainReceive(session: Client, queueId: string, expectedMessages = 10) {
  await session.query('begin');
  const { rows } = await session.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, buffers, timing off, costs off)
    select * from trunkline._receive_fifo_messages(trunkline._require_queue(${queueId}), array[10], 30, 20000)`,
  );
  await session.query('rollback');
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toMatch(new RegExp(`rows=${expectedMessages}(\\.00)? `));
  const [, ms = Number.NaN] = /Execution Time: ([\d.]+) ms/.exec(plan) ?? [];
  return { pages: pagesIn(plan), ms: Number(ms) };
}

/** As the first receives of a session, and as later ones, for which PostgreSQL keeps generic plans. */
async function pages(queueId: string): Promise<{ least: number; most: number }> {
  const session = await openSession(database);
  const counts: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    counts.push((await explainReceive(session, queueId)).pages);
  }
  // The first one reads the catalogues too.
  const [, ...later] = counts;
  return { least: Math.min(...later), most: Math.max(...later) };
}

describe('The cost of a receive', { timeout: 120_000 }, () => {
  const queues = { few: '', blocked: '', many: '' };

  beforeAll(async () => {
    queues.few = await fill({ readyGroups: 10_000 });
    queues.blocked = await fill({ readyGroups: 10_000, blockedMessages: 1_000_000 });
    queues.many = await fill({ readyGroups: 100_000 });
    await pool.query('vacuum (analyze) trunkline.messages, trunkline.message_groups');
    for (let round = 0; round < 3; round += 1) {
      await settle(pool);
    }
  }, 180_000);

  it('does not grow with a group of 1 000 000 messages that is blocked', async () => {
    const without = await pages(queues.few);
    const beside = await pages(queues.blocked);
    expect(beside.most).toBeLessThanOrEqual(without.most * 1.2);
    expect(without.most).toBeLessThan(800);
  });

  it('does not grow with it in time either, as it would with the start of parallel workers', async () => {
    const fastestMs = async (queueId: string) => {
      const session = await openSession(database);
      const times: number[] = [];
      for (let round = 0; round < 15; round += 1) {
        times.push((await explainReceive(session, queueId)).ms);
      }
      return Math.min(...times);
    };
    // A sample of what is in flight, which is kept for five seconds, would save the count.
    await pool.query('update trunkline.queue_progress set sampled_at = null');
    expect(await fastestMs(queues.blocked)).toBeLessThan(4 * (await fastestMs(queues.few)));
  });

  it('does not grow with 100 000 groups of one message each', async () => {
    const few = await pages(queues.few);
    const many = await pages(queues.many);
    expect(many.most).toBeLessThanOrEqual(few.most * 1.2);
  });

  it('does not grow with what is behind, nor with what was deleted in front', async () => {
    const queueId = await fill({ readyGroups: 0, blockedMessages: 100_000 });
    const session = await openSession(database);
    for (let round = 0; round < 8; round += 1) {
      const { pages: pagesOfNothing } = await explainReceive(session, queueId, 0);
      expect(pagesOfNothing).toBeLessThan(round === 0 ? Number.POSITIVE_INFINITY : 60);
    }

    await pool.query(
      'update trunkline.messages set visible_at = sent_at where queue_id = $1 and receive_count > 0',
      [queueId],
    );
    await pool.query('update trunkline.message_groups set visible_at = $2 where queue_id = $1', [
      queueId,
      '2000-01-01',
    ]);
    const atFirst = await pages(queueId);
    // A report that runs for long keeps every deleted row and index entry where it is.
    const report = await openSession(database);
    await report.query('begin isolation level repeatable read');
    await report.query('select from trunkline.queues');
    const rounds = 100;
    for (let round = 0; round < rounds; round += 1) {
      const received = await receive(session, queueId);
      expect(received).toHaveLength(10);
      const handles = received.map(({ receiptHandle }) => receiptHandle);
      await deleteAll(session, queueId, handles, { isOwnTransaction: true });
      if (round % 10 === 9) {
        await settle(pool);
      }
    }
    await settleAll(pool, queueId);
    const later = await pages(queueId);
    await report.query('commit');
    // What was deleted since the latest low-water mark.
    expect(later.most).toBeLessThanOrEqual(atFirst.most + rounds / 2);
  });
});

describe('Groups that drain and fill again', { timeout: 120_000 }, () => {
  it.each([
    { door: 'the server', isOwnTransaction: true },
    { door: 'SQL', isOwnTransaction: false },
  ])('cost $door the same under an old snapshot as before', async ({ isOwnTransaction }) => {
    const queueId = await createFifoQueue(pool);
    const session = await openSession(database);
    const messages = () =>
      Array.from({ length: 10 }, (_, index) => ({
        group: `g${index}`,
        deduplicationId: randomUUID(),
      }));

    async function cycle(): Promise<void> {
      await sendAll(session, queueId, messages(), { mayWait: !isOwnTransaction });
      const received = await receive(session, queueId);
      expect(received).toHaveLength(10);
      const handles = received.map(({ receiptHandle }) => receiptHandle);
      await deleteAll(session, queueId, handles, { isOwnTransaction });
    }

    /** Pages that a send, a receive and a deletion of ten messages touch. */
    async function measure() {
      const sent = sendParameters(queueId, messages(), { mayWait: !isOwnTransaction });
      const send = await explain(session, sendCall, sent);
      await session.query('begin');
      const receiving = await explain(
        session,
        'trunkline._receive_fifo_messages(trunkline._require_queue($1), array[10], 30, 20000)',
        [queueId],
      );
      await session.query('rollback');
      const handles = (await receive(session, queueId)).map(({ receiptHandle }) => receiptHandle);
      expect(handles).toHaveLength(10);
      const deletion = await explain(
        session,
        'trunkline._delete_fifo_messages(trunkline._require_queue($1), $2, $3)',
        [queueId, handles, isOwnTransaction],
      );
      return { send, receiving, deletion };
    }

    async function run(cycles: number): Promise<void> {
      for (let round = 1; round <= cycles; round += 1) {
        await cycle();
        if (round % 10 === 0) {
          await settle(pool);
          await forgetHistory(pool, 1_000);
        }
      }
    }

    const report = await openSession(database);
    await report.query('begin isolation level repeatable read');
    await report.query('select from trunkline.queues');
    await run(20);
    await settleAll(pool, queueId);
    const atFirst = await measure();
    await run(300);
    await settleAll(pool, queueId);
    const later = await measure();
    await report.query('commit');
    expect(later.send).toBeLessThan(1.5 * atFirst.send);
    expect(later.receiving).toBeLessThan(1.5 * atFirst.receiving);
    expect(later.deletion).toBeLessThan(1.5 * atFirst.deletion);
  });
});

it('removes deduplication ids at the same cost under an old snapshot', {
  timeout: 60_000,
}, async () => {
  const queueId = await createFifoQueue(pool);
  const session = await openSession(database);
  const report = await openSession(database);
  await report.query('begin isolation level repeatable read');
  await report.query('select from trunkline.queues');
  await pool.query(
    `insert into trunkline.deduplications (queue_id, deduplication_id, scope, message_id, id, expires_at)
    select $1, 'id-' || number, '', gen_random_uuid(), number, clock_timestamp() - (10000 - number) * interval '1 ms'
    from generate_series(1, 10000) as number`,
    [queueId],
  );
  const pages: number[] = [];
  for (let round = 0; round < 19; round += 1) {
    pages.push(await explain(session, 'trunkline._forget_fifo_history(500)', []));
    await sendAll(pool, queueId, [{ group: 'g', deduplicationId: randomUUID() }]);
    await settle(pool);
  }
  await settleAll(pool, queueId);
  pages.push(await explain(session, 'trunkline._forget_fifo_history(500)', []));
  await report.query('commit');
  expect(await forgetHistory(pool, 500)).toBe(0);
  const [, , early = 0] = pages;
  expect(pages.at(-1)).toBeLessThan(early + 50);
});
