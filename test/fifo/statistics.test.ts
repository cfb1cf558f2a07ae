import { expect, it } from 'vitest';
import { openSession } from '../engine/calls.ts';
import { useDatabase } from '../support/database.ts';
import { createFifoQueue, receiveBodies, send } from './calls.ts';

const database = useDatabase();
const { pool } = database;

it('reads no other group, whatever the statistics say', { timeout: 60_000 }, async () => {
  const queueId = await createFifoQueue(pool);
  await pool.query(`alter table trunkline.messages set (autovacuum_enabled = false)`);
  // Older than all else, but not there yet when the statistics are made.
  const { rows: reserved } = await pool.query<{ id: string }>(
    `select nextval('trunkline.message_ids') as id`,
  );
  await pool.query(
    `insert into trunkline.messages
      (queue_id, id, visible_at, sent_at, message_id, sender_id, group_id, deduplication_id, body)
    select
      $1, nextval('trunkline.message_ids'), clock_timestamp(), clock_timestamp(),
      gen_random_uuid(), 'sender', 'large', 'id-' || number, 'body'
    from generate_series(1, 100000) as number`,
    [queueId],
  );
  await pool.query(
    `insert into trunkline.message_groups (queue_id, group_id, head_id, visible_at)
    select queue_id, group_id, min(id), clock_timestamp() + interval '1 hour'
    from trunkline.messages
    where queue_id = $1
    group by queue_id, group_id`,
    [queueId],
  );
  await pool.query('vacuum (analyze) trunkline.messages');
  await send(pool, queueId, 'small', 'small');
  await pool.query(`update trunkline.messages set id = $2 where queue_id = $1 and body = 'small'`, [
    queueId,
    reserved[0]?.id,
  ]);
  await pool.query(
    `update trunkline.message_groups set head_id = $2 where queue_id = $1 and group_id = 'small'`,
    [queueId, reserved[0]?.id],
  );

  const session = await openSession(database);
  for (let round = 0; round < 10; round += 1) {
    await session.query('begin');
    const { rows } = await session.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, buffers, timing off, costs off)
      select * from trunkline._receive_fifo_messages(trunkline._require_queue(${queueId}), array[10], 30, 20000)`,
    );
    await session.query('rollback');
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    const [, hit = 0] = /^\s*Buffers: shared hit=(\d+)/m.exec(plan) ?? [];
    // The first one reads the catalogues too.
    expect(Number(hit)).toBeLessThan(round === 0 ? 10_000 : 200);
  }
  expect(await receiveBodies(pool, queueId)).toEqual(['small']);
});
