import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { call, createQueue, receive } from './door.ts';

const database = useDatabase();
const { pool } = database;

const many = 100_000;

it.each([
  ['a standard queue', {}, null],
  ['a FIFO queue, in 50 000 groups', { FifoQueue: true }, many / 2],
])('one statement sends 100 000 messages to %s', async (_what, queue, groupCount) => {
  const name = await createQueue(pool, queue);
  const { rows } = await pool.query<{ sent: string; ids: string; is_ordered: boolean }>(
    `select
      count(*) as sent,
      count(distinct message_id) as ids,
      coalesce(bool_and(sequence_number > before), true) as is_ordered
    from (
      select message_id, sequence_number, lag(sequence_number) over (order by entry) as before
      from (
        select
          array_agg('message ' || number) as bodies,
          array_agg('group-' || number % $2::integer) as groups,
          array_agg('id-' || number) as ids
        from generate_series(1, $3::integer) as number
      ) as batch
      cross join lateral trunkline.send_message_batch(
        $1,
        batch.bodies,
        message_group_ids => case when $2 > 0 then batch.groups end,
        message_deduplication_ids => case when $2 > 0 then batch.ids end
      )
    ) as sent`,
    [name, groupCount, many],
  );
  expect(rows).toEqual([{ sent: String(many), ids: String(many), is_ordered: true }]);
  const [described] = await call<{ get_queue_attributes: Record<string, string> }>(
    pool,
    'get_queue_attributes',
    { queue_name: name },
  );
  expect(described?.get_queue_attributes).toMatchObject({
    ApproximateNumberOfMessages: String(many),
  });
  const received = await receive(pool, name, { max_number_of_messages: 1_000 });
  expect(new Set(received.map(({ body }) => body)).size).toBe(1_000);
});

it('one statement sends what a query finds, and nothing when it finds nothing', async () => {
  const name = await createQueue(pool);
  const sendWhere = (condition: string) =>
    pool.query(
      `select count(*)::integer as sent
      from trunkline.send_message_batch(
        $1,
        (select array_agg('order ' || number) from generate_series(1, 10) as number where ${condition})
      )`,
      [name],
    );
  expect((await sendWhere('number > 5')).rows).toEqual([{ sent: 5 }]);
  expect((await sendWhere('false')).rows).toEqual([{ sent: 0 }]);
  expect(await receive(pool, name, { max_number_of_messages: 10 })).toHaveLength(5);
});

it('sends nothing to a FIFO queue for no rows', async () => {
  const name = await createQueue(pool, { FifoQueue: true });
  const nothing = { queue_name: name, message_bodies: null, message_group_ids: null };
  expect(await call(pool, 'send_message_batch', nothing)).toEqual([]);
});
