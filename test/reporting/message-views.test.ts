import { describe, expect, it } from 'vitest';
import { openSession } from '../engine/calls.ts';
import {
  call,
  createQueue,
  deleteMessage,
  letTimePass,
  only,
  receive,
  receiveOne,
  type SqlReceived,
  send,
} from '../sql/door.ts';
import { useDatabase } from '../support/database.ts';
import { groupsOf, settle } from './reports.ts';

const database = useDatabase();
const { pool } = database;

const fifoQueue = { FifoQueue: true, ContentBasedDeduplication: true };

interface Peeked {
  message_id: string;
  state: string;
  body: string;
  message_attributes: unknown;
  receive_count: number;
  message_group_id: string | null;
  sequence_number: string | null;
}

async function peek(queueName: string, options: Record<string, unknown> = {}): Promise<Peeked[]> {
  return await call<Peeked>(pool, 'message_peek', { queue_name: queueName, ...options });
}

async function peekBodies(queueName: string, options: Record<string, unknown> = {}) {
  return (await peek(queueName, options)).map(({ body }) => body);
}

describe('in_flight_messages', () => {
  const inFlight = async (queueName: string) =>
    (
      await pool.query('select * from trunkline.in_flight_messages where queue_name = $1', [
        queueName,
      ])
    ).rows;

  it('shows what was received and is hidden, and nothing else', async () => {
    const name = await createQueue(pool);
    await send(pool, name, 'delayed', { delay: '15 minutes' });
    await send(pool, name, 'visible');
    await send(pool, name, 'gone');
    const gone = only(await receive(pool, name));
    await deleteMessage(pool, name, gone.receipt_handle);
    const { message_id, sent_at } = await receiveOne(pool, name, { visibility_timeout: '1 hour' });
    const shown = only(await inFlight(name));
    expect(shown).toEqual({
      account_id: '000000000000',
      queue_name: name,
      message_id,
      received_at: expect.any(Date),
      visible_again_at: new Date(shown.received_at.getTime() + 3_600_000),
      receive_count: 1,
      first_received_at: shown.received_at,
      sent_at,
      message_group_id: null,
      sequence_number: null,
    });
    await letTimePass(pool, name, '1 hour');
    expect(await inFlight(name)).toEqual([]);
  });

  it('shows group and sequence number of a FIFO message', async () => {
    const name = await createQueue(pool, fifoQueue);
    const { sequence_number } = await send(pool, name, 'a', { message_group_id: 'g' });
    await receiveOne(pool, name);
    expect(await inFlight(name)).toMatchObject([{ message_group_id: 'g', sequence_number }]);
  });
});

describe('message_group_backlog', () => {
  it('tells which groups are blocked, since when and by which message', async () => {
    const name = await createQueue(pool, fifoQueue);
    const first = await send(pool, name, 'a1', { message_group_id: 'a' });
    await send(pool, name, 'a2', { message_group_id: 'a' });
    await send(pool, name, 'b1', { message_group_id: 'b' });
    const received = await receiveOne(pool, name, { visibility_timeout: '1 hour' });
    const { rows } = await pool.query<{ received_at: Date; visible_again_at: Date }>(
      'select received_at, visible_again_at from trunkline.in_flight_messages where message_id = $1',
      [received.message_id],
    );
    const { received_at, visible_again_at } = only(rows);
    expect(await groupsOf(pool, name)).toMatchObject([
      {
        message_group_id: 'a',
        depth: 2,
        is_blocked: true,
        blocked_since: received_at,
        blocked_until: visible_again_at,
        blocked_by_message_id: first.message_id,
        blocked_by_receive_count: 1,
      },
      {
        message_group_id: 'b',
        depth: 1,
        is_blocked: false,
        blocked_since: null,
        blocked_until: null,
        blocked_by_message_id: null,
        blocked_by_receive_count: null,
      },
    ]);
    await deleteMessage(pool, name, received.receipt_handle);
    expect(await groupsOf(pool, name)).toMatchObject([
      { message_group_id: 'a', depth: 1, is_blocked: false },
      { message_group_id: 'b', depth: 1, is_blocked: false },
    ]);
  });

  it('names a delayed head, from when it was sent', async () => {
    const name = await createQueue(pool, { ...fifoQueue, DelaySeconds: 60 });
    const { message_id } = await send(pool, name, 'a', { message_group_id: 'g' });
    const [group] = await groupsOf(pool, name);
    expect(group).toMatchObject({
      is_blocked: true,
      blocked_by_message_id: message_id,
      blocked_by_receive_count: 0,
    });
    expect(group?.blocked_since).toEqual(group?.oldest_sent_at);
  });

  it('counts a deep group up to 1000', async () => {
    const name = await createQueue(pool, fifoQueue);
    for (const [group, count] of [
      ['deep', 1_001],
      ['less', 999],
    ] as const) {
      await pool.query(
        `select count(*)
        from (select array_agg('m' || number) as bodies, array_agg($2::text) as groups
          from generate_series(1, $3::integer) as number) as batch
        cross join lateral trunkline.send_message_batch($1, batch.bodies, message_group_ids => batch.groups,
          message_deduplication_ids => (select array_agg($2 || '-' || number) from generate_series(1, $3) as number))`,
        [name, group, count],
      );
    }
    expect((await groupsOf(pool, name)).map(({ depth }) => depth)).toEqual([1_000, 999]);
  });

  it('shows a drained group again when a late send commits, and not before', async () => {
    const name = await createQueue(pool, fifoQueue);
    await send(pool, name, 'a', { message_group_id: 'g' });
    const late = await openSession(database);
    await late.query('begin');
    await send(late, name, 'late', { message_group_id: 'g' });
    await deleteMessage(pool, name, (await receiveOne(pool, name)).receipt_handle);
    expect(await groupsOf(pool, name)).toEqual([]);
    await late.query('commit');
    expect(await groupsOf(pool, name)).toMatchObject([
      { message_group_id: 'g', depth: 1, is_blocked: false },
    ]);
  });

  it('finds blocked groups, and one group, without a look at the others', async () => {
    const name = await createQueue(pool, fifoQueue);
    await pool.query(
      `select count(*)
      from (select array_agg('m' || number) as bodies, array_agg('g' || number) as groups
        from generate_series(1, 3000) as number) as batch
      cross join lateral trunkline.send_message_batch($1, batch.bodies, message_group_ids => batch.groups)`,
      [name],
    );
    await receiveOne(pool, name, { visibility_timeout: '1 hour' });
    await pool.query('analyze trunkline.message_groups, trunkline.queues');
    for (const condition of ['is_blocked', `message_group_id = 'g77'`]) {
      const { rows } = await pool.query<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }>(
        `explain (analyze, buffers, format json)
        select * from trunkline.message_group_backlog where queue_name = '${name}' and ${condition}`,
      );
      const plan = only(rows)['QUERY PLAN'][0]?.Plan;
      expect(plan).toMatchObject({ 'Actual Rows': 1 });
      expect(plan?.['Shared Hit Blocks']).toBeLessThan(700);
    }
  });
});

describe('message_peek', () => {
  it('shows messages of every state, without changing anything', async () => {
    const name = await createQueue(pool);
    await send(pool, name, 'in flight');
    await receiveOne(pool, name, { visibility_timeout: '1 minute' });
    await send(pool, name, 'delayed', { delay: '10 minutes' });
    const message_attributes = { n: { DataType: 'Number', StringValue: '1' } };
    await send(pool, name, 'first', { message_attributes: JSON.stringify(message_attributes) });
    await send(pool, name, 'second');
    const before = await pool.query('select xmin, * from trunkline.messages order by id');
    for (let time = 0; time < 2; time += 1) {
      expect(await peek(name)).toMatchObject([
        { body: 'first', state: 'visible', receive_count: 0, message_attributes },
        { body: 'second', state: 'visible', receive_count: 0 },
        { body: 'in flight', state: 'in_flight', receive_count: 1 },
        { body: 'delayed', state: 'delayed', receive_count: 0 },
      ]);
    }
    expect(await peekBodies(name, { newest_first: true, max_number_of_messages: 3 })).toEqual([
      'delayed',
      'in flight',
      'second',
    ]);
    for (const [state, bodies] of [
      ['visible', ['first', 'second']],
      ['in_flight', ['in flight']],
      ['delayed', ['delayed']],
    ] as const) {
      expect(await peekBodies(name, { message_state: state })).toEqual(bodies);
      expect(await peekBodies(name, { message_state: state, newest_first: true })).toEqual(
        bodies.toReversed(),
      );
    }
    const after = await pool.query('select xmin, * from trunkline.messages order by id');
    expect(after.rows).toEqual(before.rows);
  });

  it('shows messages behind a blocked head of a FIFO queue', async () => {
    const name = await createQueue(pool, fifoQueue);
    const { sequence_number } = await send(pool, name, 'a1', { message_group_id: 'a' });
    await send(pool, name, 'a2', { message_group_id: 'a' });
    await receiveOne(pool, name);
    await settle(pool);
    await pool.query('select trunkline._sample_statistics()');
    expect(await peek(name)).toMatchObject([
      { body: 'a2', state: 'visible', message_group_id: 'a' },
      { body: 'a1', state: 'in_flight', sequence_number },
    ]);
  });

  it('leaves out what is past its retention, as a receive does', async () => {
    const name = await createQueue(pool, { MessageRetentionPeriod: 60 });
    await send(pool, name, 'old');
    await pool.query(
      `update trunkline.messages as message set sent_at = sent_at - interval '1 minute'
      from trunkline.queues as queue where queue.id = message.queue_id and queue.name = $1`,
      [name],
    );
    expect(await peek(name)).toEqual([]);
  });

  it.each([
    [{ max_number_of_messages: 0 }, 'MaxNumberOfMessages'],
    [{ max_number_of_messages: 1_001 }, 'MaxNumberOfMessages'],
    [{ max_number_of_messages: null }, 'MaxNumberOfMessages'],
    [{ message_state: 'gone' }, 'MessageState'],
  ])('refuses %j', async (options, parameter) => {
    const name = await createQueue(pool);
    await expect(peek(name, options)).rejects.toMatchObject({
      code: 'TQ012',
      message: expect.stringContaining(`for parameter ${parameter} is invalid`),
    });
    await expect(peek('there is none')).rejects.toMatchObject({ code: 'TQ001' });
  });
});

it('shows no part of a receipt handle anywhere', async () => {
  const name = await createQueue(pool, fifoQueue);
  await send(pool, name, 'a', { message_group_id: 'g' });
  const received: SqlReceived = await receiveOne(pool, name);
  const nonce = Buffer.from(received.receipt_handle, 'base64').subarray(9, 25).toString('hex');
  const everything = await Promise.all([
    pool.query('select * from trunkline.queue_backlog'),
    pool.query('select * from trunkline.in_flight_messages'),
    pool.query('select * from trunkline.message_group_backlog'),
    pool.query('select * from trunkline.message_peek($1)', [name]),
  ]);
  const shown = JSON.stringify(everything.map(({ rows }) => rows));
  expect(shown).toContain(received.message_id);
  expect(shown.replaceAll('-', '')).not.toContain(nonce);
  expect(shown).not.toContain(received.receipt_handle);
});
