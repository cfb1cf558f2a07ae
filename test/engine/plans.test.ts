import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { expect, it } from 'vitest';
import * as fifo from '../fifo/calls.ts';
import { useDatabase } from '../support/database.ts';
import * as standard from './calls.ts';

/**
 * Plans are kept for a session, and may have been made when there was hardly a message. What they read is told in
 * pages of the buffer cache, which are the same on any machine.
 */

const database = useDatabase();
const { pool } = database;

async function pagesOf(session: Client, call: string, values: readonly unknown[]): Promise<number> {
  const { rows } = await session.query<{ 'QUERY PLAN': string }>(
    `explain (analyze, buffers, timing off, costs off) select ${call}`,
    [...values],
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const [, hit = 0, read = 0] =
    /^\s*Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/m.exec(plan) ?? [];
  return Number(hit) + Number(read);
}

interface Kind {
  name: string;
  createQueue(): Promise<string>;
  send(session: Client, queueId: string): Promise<{ pages: number }>;
  receive(session: Client, queueId: string): Promise<string[]>;
  calls: { receive: string; change: string; delete: string };
}

const bodies = Array.from({ length: 10 }, (_, index) => `${index}`);
const timeouts = 'array_fill(60, array[cardinality($2::text[])])';

const kinds: Kind[] = [
  {
    name: 'a standard queue',
    createQueue: () => standard.createQueue(pool),
    async send(session, queueId) {
      const parameters = standard.sendParameters(queueId, bodies);
      const pages = await pagesOf(session, standard.sendCall, parameters);
      return { pages };
    },
    async receive(session, queueId) {
      const received = await standard.receive(session, queueId);
      return received.map(({ receiptHandle }) => receiptHandle);
    },
    calls: {
      receive: 'trunkline._receive_messages(trunkline._require_queue($1), 10, 30, 120000)',
      change: `trunkline._change_visibility(trunkline._require_queue($1), $2, ${timeouts})`,
      delete: 'trunkline._delete_messages(trunkline._require_queue($1), $2)',
    },
  },
  {
    name: 'a FIFO queue',
    createQueue: () => fifo.createFifoQueue(pool),
    async send(session, queueId) {
      const messages = bodies.map((body) => ({ group: body, deduplicationId: randomUUID() }));
      const parameters = fifo.sendParameters(queueId, messages);
      return { pages: await pagesOf(session, fifo.sendCall, parameters) };
    },
    async receive(session, queueId) {
      const received = await fifo.receive(session, queueId);
      return received.map(({ receiptHandle }) => receiptHandle);
    },
    calls: {
      receive:
        'trunkline._receive_fifo_messages(trunkline._require_queue($1), array[10], 30, 20000)',
      change: `trunkline._change_fifo_visibility(trunkline._require_queue($1), $2, ${timeouts})`,
      delete: 'trunkline._delete_fifo_messages(trunkline._require_queue($1), $2)',
    },
  },
];

/** As many messages as there may be after a while; on a FIFO queue in as many groups. */
async function fill(queueId: string): Promise<void> {
  await pool.query(
    `with stored as (
      insert into trunkline.messages
        (queue_id, id, visible_at, sent_at, message_id, sender_id, body, group_id, deduplication_id)
      select
        queue.id, nextval('trunkline.message_ids'), clock_timestamp(), clock_timestamp(), gen_random_uuid(), 'sender',
        'body', case when queue.is_fifo then 'group ' || number end, case when queue.is_fifo then 'id ' || number end
      from generate_series(1, 50000) as number
      cross join trunkline.queues as queue
      where queue.id = $1
      returning queue_id, group_id, id, visible_at
    ),
    named as (
      insert into trunkline.message_group_names (queue_id, group_id)
      select queue_id, group_id from stored where group_id is not null
    )
    insert into trunkline.message_groups (queue_id, group_id, head_id, visible_at)
    select queue_id, group_id, id, visible_at from stored where group_id is not null`,
    [queueId],
  );
}

it.each(kinds)(
  'read no other messages of $name, though they were made when there was none',
  { timeout: 60_000 },
  async ({ createQueue, send, receive, calls }) => {
    for (const table of ['messages', 'message_groups', 'message_group_names', 'deduplications']) {
      await pool.query(`alter table trunkline.${table} set (autovacuum_enabled = false)`);
    }
    const queueId = await createQueue();
    const session = await standard.openSession(database);

    async function measure() {
      const sent = await send(session, queueId);
      await session.query('begin');
      const receiving = await pagesOf(session, calls.receive, [queueId]);
      await session.query('rollback');
      const handles = await receive(session, queueId);
      expect(handles).toHaveLength(10);
      const changing = await pagesOf(session, calls.change, [queueId, handles]);
      const deleting = await pagesOf(session, calls.delete, [queueId, handles]);
      return { send: sent.pages, receive: receiving, change: changing, delete: deleting };
    }

    await measure();
    const whenEmpty = await measure();
    await fill(queueId);
    const whenFull = await measure();
    for (const call of ['send', 'receive', 'change', 'delete'] as const) {
      expect(whenFull[call], call).toBeLessThan(whenEmpty[call] + 200);
    }
  },
);
