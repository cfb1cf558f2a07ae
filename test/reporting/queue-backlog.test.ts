import { describe, expect, it } from 'vitest';
import { openSession } from '../engine/calls.ts';
import {
  call,
  createQueue,
  deleteMessage,
  letTimePass,
  receive,
  receiveOne,
  send,
} from '../sql/door.ts';
import { useDatabase } from '../support/database.ts';
import { backlogOf, sample, settle } from './reports.ts';

const database = useDatabase();
const { pool } = database;

async function minutesAgo(minutes: number): Promise<Date> {
  const { rows } = await pool.query<{ at: Date }>(
    `select clock_timestamp() - make_interval(mins => $1) as at`,
    [minutes],
  );
  return rows[0]?.at ?? new Date(0);
}

/** The four minutes of a rate last longer by what the test takes, on a busy machine many seconds. */
function expectAbout(rate: number | null, expected: number): void {
  expect(rate).toBeLessThanOrEqual(expected * 1.01);
  expect(rate).toBeGreaterThan(expected * 0.85);
}

const kinds = [
  { kind: 'standard', queue: {}, fifo: (_id: string) => ({}) },
  {
    kind: 'fifo',
    queue: { FifoQueue: true, ContentBasedDeduplication: true },
    fifo: (id: string) => ({ message_group_id: id }),
  },
];

describe.each(kinds)('the backlog of a $kind queue', ({ kind, queue, fifo }) => {
  it('is empty at first', async () => {
    const name = await createQueue(pool, queue);
    expect(await backlogOf(pool, name)).toEqual({
      queue_type: kind,
      visible: 0,
      in_flight: 0,
      delayed: 0,
      oldest_visible_seconds: null,
      oldest_in_flight_seconds: null,
      dead_letters_waiting: null,
      in_per_minute: null,
      out_per_minute: null,
      drain_seconds: 0,
    });
  });

  it('tells the states apart, before and after counts are settled', async () => {
    const name = await createQueue(pool, { ...queue, DelaySeconds: 900 });
    await send(pool, name, 'delayed', fifo('delayed'));
    await call(pool, 'set_queue_attributes', {
      queue_name: name,
      attributes: '{"DelaySeconds": 0}',
    });
    for (const body of ['a', 'b', 'c', 'd', 'e']) {
      await send(pool, name, body, fifo(body));
    }
    await receive(pool, name, { max_number_of_messages: 2 });
    const { receipt_handle } = await receiveOne(pool, name);
    await deleteMessage(pool, name, receipt_handle);
    const expected = { visible: 2, in_flight: 2, delayed: 1 };
    expect(await backlogOf(pool, name)).toMatchObject(expected);
    await settle(pool);
    expect(await backlogOf(pool, name)).toMatchObject(expected);
  });

  it('tells how long the oldest has been visible, and in flight', async () => {
    const name = await createQueue(pool, queue);
    await send(pool, name, 'a', fifo('a'));
    await letTimePass(pool, name, '1 hour');
    await send(pool, name, 'b', fifo('b'));
    const before = await backlogOf(pool, name);
    expect(before.oldest_visible_seconds).toBeGreaterThanOrEqual(3_600);
    expect(before.oldest_visible_seconds).toBeLessThan(3_660);
    expect(before.oldest_in_flight_seconds).toBeNull();

    await receiveOne(pool, name, { visibility_timeout: '12 hours' });
    await pool.query(
      `update trunkline.messages as message
      set received_at = received_at - interval '2 hours'
      from trunkline.queues as queue
      where queue.id = message.queue_id and queue.name = $1`,
      [name],
    );
    const after = await backlogOf(pool, name);
    expect(after.oldest_visible_seconds).toBeLessThan(60);
    expect(after.oldest_in_flight_seconds).toBeGreaterThanOrEqual(7_200);
    expect(after.oldest_in_flight_seconds).toBeLessThan(7_260);
  });

  it('tells rates of the last minutes, and when the queue will be empty', async () => {
    const name = await createQueue(pool, queue);
    for (let number = 0; number < 12; number += 1) {
      await send(pool, name, `before-${number}`, fifo(`before-${number}`));
    }
    // The other tests of this file sample too, and a minute is sampled once.
    await pool.query('truncate trunkline.queue_statistics');
    await sample(pool, await minutesAgo(9));
    await sample(pool, await minutesAgo(4));
    for (let number = 0; number < 4; number += 1) {
      await send(pool, name, `then-${number}`, fifo(`then-${number}`));
    }
    const growing = await backlogOf(pool, name);
    expectAbout(growing.in_per_minute, 1);
    expect(growing).toMatchObject({ out_per_minute: 0, drain_seconds: null });

    for (const message of await receive(pool, name, { max_number_of_messages: 8 })) {
      await deleteMessage(pool, name, message.receipt_handle);
    }
    // Folding counts changes nothing.
    for (const prepare of [async () => {}, () => settle(pool)]) {
      await prepare();
      const shrinking = await backlogOf(pool, name);
      expectAbout(shrinking.in_per_minute, 1);
      expectAbout(shrinking.out_per_minute, 2);
      // Eight are left, and one a minute goes.
      expectAbout(480 / (shrinking.drain_seconds ?? 0), 1);
    }
  });

  it('has no rates over a purge', async () => {
    const name = await createQueue(pool, queue);
    await send(pool, name, 'a', fifo('a'));
    await pool.query('truncate trunkline.queue_statistics');
    await sample(pool, await minutesAgo(2));
    await call(pool, 'purge_queue', { queue_name: name });
    await send(pool, name, 'b', fifo('b'));
    expect(await backlogOf(pool, name)).toMatchObject({ visible: 1, in_per_minute: null });
  });

  it('counts what waits in the dead-letter queue', async () => {
    const dead = await createQueue(pool, queue);
    const name = await createQueue(pool, {
      ...queue,
      RedrivePolicy: {
        deadLetterTargetArn: `arn:aws:sqs:us-east-1:000000000000:${dead}`,
        maxReceiveCount: 3,
      },
    });
    expect(await backlogOf(pool, name)).toMatchObject({ dead_letters_waiting: 0 });
    await send(pool, dead, 'a', fifo('a'));
    await send(pool, dead, 'b', fifo('b'));
    const { receipt_handle } = await receiveOne(pool, dead);
    expect(await backlogOf(pool, name)).toMatchObject({ visible: 0, dead_letters_waiting: 2 });
    await deleteMessage(pool, dead, receipt_handle);
    expect(await backlogOf(pool, name)).toMatchObject({ dead_letters_waiting: 1 });
    await call(pool, 'delete_queue', { queue_name: dead });
    expect(await backlogOf(pool, name)).toMatchObject({ dead_letters_waiting: null });
  });
});

describe('the oldest message of a FIFO queue', () => {
  const queue = { FifoQueue: true, ContentBasedDeduplication: true };

  it('is found behind a blocked head, and with a mark from sampling', async () => {
    const name = await createQueue(pool, queue);
    await send(pool, name, 'head', { message_group_id: 'g' });
    await send(pool, name, 'behind', { message_group_id: 'g' });
    await letTimePass(pool, name, '1 hour');
    await receiveOne(pool, name, { visibility_timeout: '12 hours' });
    for (const minutes of [3, 2, 1]) {
      expect((await backlogOf(pool, name)).oldest_visible_seconds).toBeGreaterThan(3_599);
      await settle(pool);
      await sample(pool, await minutesAgo(minutes));
    }
  });

  it('is found though its transaction committed long after others', async () => {
    const name = await createQueue(pool, queue);
    const late = await openSession(database);
    await late.query('begin');
    await send(late, name, 'late', { message_group_id: 'late' });
    await send(pool, name, 'later', { message_group_id: 'later' });
    // What the open transaction wrote keeps this from settling, and a mark from passing it.
    for (let time = 1; time <= 3; time += 1) {
      await pool.query('select trunkline._settle()');
    }
    await pool.query('delete from trunkline.queue_statistics');
    await sample(pool, await minutesAgo(1));
    const before = await backlogOf(pool, name);
    await late.query('commit');
    const after = await backlogOf(pool, name);
    expect(after.visible).toBe(2);
    expect(after.oldest_visible_seconds).toBeGreaterThan(before.oldest_visible_seconds ?? 0);
    const { rows } = await pool.query(
      `select from trunkline.queue_statistics as sample
      where exists (
        select from trunkline.messages as message
        where message.queue_id = sample.queue_id and message.visible_at < sample.visible_from
      )`,
    );
    expect(rows).toEqual([]);
  });
});

it('looks at the queues that are asked for, and touches as many pages at any backlog', async () => {
  async function buffersFor(queueName: string): Promise<number> {
    const explained = await pool.query<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }>(
      `explain (analyze, buffers, format json)
      select * from trunkline.queue_backlog where queue_name = '${queueName}'`,
    );
    const plan = explained.rows[0]?.['QUERY PLAN'][0]?.Plan;
    return Number(plan?.['Shared Hit Blocks']) + Number(plan?.['Shared Read Blocks']);
  }
  const [small, large] = [await createQueue(pool), await createQueue(pool)];
  for (const [name, count] of [
    [small, 10],
    [large, 20_000],
  ] as const) {
    await pool.query(
      `select count(*) from trunkline.send_message_batch($1, array_fill('x'::text, array[$2::integer]))`,
      [name, count],
    );
    await receive(pool, name, { max_number_of_messages: 5 });
  }
  await settle(pool);
  const [forSmall, forLarge] = [await buffersFor(small), await buffersFor(large)];
  expect(forLarge).toBeLessThan(forSmall + 40);
});
