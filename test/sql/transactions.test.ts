import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openSession } from '../engine/calls.ts';
import { waitUntilBlocked } from '../engine/locks.ts';
import { useDatabase } from '../support/database.ts';
import {
  call,
  createQueue,
  deleteMessage,
  letTimePass,
  only,
  receive,
  receiveOne,
  send,
} from './door.ts';

const database = useDatabase();
const { pool } = database;

beforeAll(async () => {
  await pool.query('create table effects (message_id uuid not null, worker text not null)');
});
afterAll(() => pool.query('drop table effects'));

const kinds = [
  { kind: 'standard', queue: {}, fifo: {} },
  {
    kind: 'FIFO',
    queue: { FifoQueue: true, ContentBasedDeduplication: true },
    fifo: { message_group_id: 'group' },
  },
];

async function counts(queueName: string): Promise<Record<string, string>> {
  const { rows } = await pool.query<{ attributes: Record<string, string> }>(
    'select trunkline.get_queue_attributes($1) as attributes',
    [queueName],
  );
  return only(rows).attributes;
}

describe.each(kinds)('a transaction on a $kind queue', ({ queue, fifo }) => {
  it('shows what it sends when it commits', async () => {
    const name = await createQueue(pool, queue);
    const session = await openSession(database);
    await session.query('begin');
    const { message_id } = await send(session, name, 'a', fifo);
    expect(await receive(pool, name)).toEqual([]);
    await session.query('commit');
    expect(await receiveOne(pool, name)).toMatchObject({ message_id, body: 'a' });
  });

  it('leaves nothing when it rolls back, no deduplication id either', async () => {
    const name = await createQueue(pool, queue);
    const session = await openSession(database);
    await session.query('begin');
    const undone = await send(session, name, 'a', fifo);
    await session.query('savepoint inner_part');
    await send(session, name, 'b', fifo);
    await session.query('rollback');
    expect(await receive(pool, name)).toEqual([]);
    expect(await counts(name)).toMatchObject({
      ApproximateNumberOfMessages: '0',
      ApproximateNumberOfMessagesNotVisible: '0',
      ApproximateNumberOfMessagesDelayed: '0',
    });
    const again = await send(pool, name, 'a', fifo);
    expect(again.message_id).not.toBe(undone.message_id);
    expect(await receiveOne(pool, name)).toMatchObject({ message_id: again.message_id });
  });

  it('keeps what was sent before a savepoint that it rolls back to', async () => {
    const name = await createQueue(pool, queue);
    const session = await openSession(database);
    await session.query('begin');
    await send(session, name, 'kept', fifo);
    await session.query('savepoint later');
    await send(session, name, 'undone', fifo);
    await session.query('rollback to savepoint later');
    await session.query('commit');
    const received = await receive(pool, name, { max_number_of_messages: 10 });
    expect(received.map(({ body }) => body)).toEqual(['kept']);
  });

  it('acknowledges by its commit, and gives back by its rollback', async () => {
    const name = await createQueue(pool, queue);
    await send(pool, name, 'a', fifo);
    const { receipt_handle } = await receiveOne(pool, name);
    const session = await openSession(database);
    await session.query('begin');
    await deleteMessage(session, name, receipt_handle);
    await session.query('rollback');
    expect(await counts(name)).toMatchObject({ ApproximateNumberOfMessagesNotVisible: '1' });
    await session.query('begin');
    await deleteMessage(session, name, receipt_handle);
    await session.query('commit');
    expect(await counts(name)).toMatchObject({ ApproximateNumberOfMessagesNotVisible: '0' });
    await letTimePass(pool, name, '1 day');
    expect(await receive(pool, name)).toEqual([]);
  });

  it('is aborted by the delete of a message that another worker has now', async () => {
    const name = await createQueue(pool, queue);
    await send(pool, name, 'a', fifo);
    const early = await receiveOne(pool, name);
    await letTimePass(pool, name, '1 minute');
    const late = await receiveOne(pool, name);

    const session = await openSession(database);
    await session.query('begin');
    await session.query('insert into effects values ($1, $2)', [early.message_id, 'early']);
    await expect(deleteMessage(session, name, early.receipt_handle)).rejects.toMatchObject({
      code: 'TQ008',
      message: `Value ${early.receipt_handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`,
    });
    // In an aborted transaction a commit is a rollback.
    expect((await session.query('commit')).command).toBe('ROLLBACK');
    await session.query('begin');
    await session.query('insert into effects values ($1, $2)', [late.message_id, 'late']);
    await deleteMessage(session, name, late.receipt_handle);
    await session.query('commit');
    const { rows } = await pool.query('select worker from effects where message_id = $1', [
      early.message_id,
    ]);
    expect(rows).toEqual([{ worker: 'late' }]);
    await expect(deleteMessage(pool, name, late.receipt_handle)).rejects.toMatchObject({
      code: 'TQ008',
    });
  });

  it('may ask instead of being aborted', async () => {
    const name = await createQueue(pool, queue);
    await send(pool, name, 'a', fifo);
    const { receipt_handle } = await receiveOne(pool, name);
    const ignore = () =>
      call(pool, 'delete_message_or_ignore', { queue_name: name, receipt_handle });
    expect(await ignore()).toEqual([{ delete_message_or_ignore: true }]);
    expect(await ignore()).toEqual([{ delete_message_or_ignore: false }]);
    await expect(
      call(pool, 'delete_message_or_ignore', { queue_name: name, receipt_handle: 'made up' }),
    ).rejects.toMatchObject({ code: 'TQ007' });
  });

  it('is told of a message that it can hide no longer', async () => {
    const name = await createQueue(pool, queue);
    const { message_id } = await send(pool, name, 'a', fifo);
    const { receipt_handle } = await receiveOne(pool, name);
    const change = (visibility_timeout: string) =>
      call(pool, 'change_message_visibility', {
        queue_name: name,
        receipt_handle,
        visibility_timeout,
      });
    await pool.query(
      `update trunkline.messages set received_at = received_at - interval '11 hours' where message_id = $1`,
      [message_id],
    );
    await expect(change('2 hours')).rejects.toMatchObject({ code: 'TQ012' });
    await change('30 minutes');
    await deleteMessage(pool, name, receipt_handle);
    await expect(change('1 minute')).rejects.toMatchObject({ code: 'TQ008' });
  });

  it('deletes all messages of a batch or none', async () => {
    const name = await createQueue(pool, queue);
    await send(pool, name, 'a', fifo);
    await send(pool, name, 'b', fifo);
    const handles = (await receive(pool, name, { max_number_of_messages: 2 })).map(
      ({ receipt_handle }) => receipt_handle,
    );
    await deleteMessage(pool, name, handles[0] ?? '');
    const batch = { queue_name: name, receipt_handles: handles };
    await expect(call(pool, 'delete_message_batch', batch)).rejects.toMatchObject({
      code: 'TQ008',
    });
    await deleteMessage(pool, name, handles[1] ?? '');
  });
});

/** Ends the session's process, as a crash of the worker or its host would. */
async function kill(session: Client): Promise<void> {
  const { rows } = await session.query<{ id: number }>('select pg_backend_pid() as id');
  const ended = new Promise((resolve) => session.once('end', resolve));
  session.on('error', () => {});
  await pool.query('select pg_terminate_backend($1)', [rows[0]?.id]);
  await ended;
}

type Step = (
  session: Client,
  queueName: string,
  state: { handle?: string; id?: string },
) => unknown;

const receiveStep: Step = async (session, queueName, state) => {
  const message = await receiveOne(session, queueName);
  state.handle = message.receipt_handle;
  state.id = message.message_id;
};
const begin: Step = (session) => session.query('begin');
const work: Step = (session, _queueName, { id }) =>
  session.query('insert into effects values ($1, $2)', [id, 'worker']);
const acknowledge: Step = (session, queueName, { handle }) =>
  deleteMessage(session, queueName, handle ?? null);
const commit: Step = (session) => session.query('commit');

const patterns: { pattern: string; steps: Step[] }[] = [
  {
    pattern: 'receive, then work and delete in one transaction',
    steps: [receiveStep, begin, work, acknowledge, commit],
  },
  {
    pattern: 'receive, work and delete in one transaction',
    steps: [begin, receiveStep, work, acknowledge, commit],
  },
];

describe.each(kinds)('exactly-once effects on a $kind queue', ({ queue, fifo }) => {
  it.each(patterns)('$pattern: killed at any step, the effect is there once', async ({ steps }) => {
    for (let survived = 0; survived <= steps.length; survived += 1) {
      const name = await createQueue(pool, queue);
      const { message_id } = await send(pool, name, 'a', fifo);

      const victim = await openSession(database);
      const state = {};
      for (const step of steps.slice(0, survived)) {
        await step(victim, name, state);
      }
      await kill(victim);

      // The message comes back when its timeout is over, unless the victim had finished.
      await letTimePass(pool, name, '1 minute');
      const survivor = await openSession(database);
      const again = await receive(survivor, name);
      expect(again).toHaveLength(survived === steps.length ? 0 : 1);
      for (const message of again) {
        await survivor.query('begin');
        await survivor.query('insert into effects values ($1, $2)', [
          message.message_id,
          'survivor',
        ]);
        await deleteMessage(survivor, name, message.receipt_handle);
        await survivor.query('commit');
      }

      const { rows } = await pool.query('select from effects where message_id = $1', [message_id]);
      expect(rows).toHaveLength(1);
      await letTimePass(pool, name, '1 day');
      expect(await receive(pool, name)).toEqual([]);
    }
  });

  it('two workers with one message: the slower has no effect', async () => {
    const name = await createQueue(pool, queue);
    const { message_id } = await send(pool, name, 'a', fifo);
    const [slow, fast] = [await openSession(database), await openSession(database)];
    const early = await receiveOne(slow, name);
    await letTimePass(pool, name, '1 minute');
    const late = await receiveOne(fast, name);
    for (const [session, worker] of [
      [slow, 'slow'],
      [fast, 'fast'],
    ] as const) {
      await session.query('begin');
      await session.query('insert into effects values ($1, $2)', [message_id, worker]);
    }
    // Neither sees the other's work yet; the receipt handle decides.
    await deleteMessage(fast, name, late.receipt_handle);
    const refused = expect(deleteMessage(slow, name, early.receipt_handle)).rejects.toMatchObject({
      code: 'TQ008',
    });
    await fast.query('commit');
    await refused;
    await slow.query('rollback');
    const { rows } = await pool.query('select worker from effects where message_id = $1', [
      message_id,
    ]);
    expect(rows).toEqual([{ worker: 'fast' }]);
  });
});

describe('isolation levels', () => {
  it.each(['repeatable read', 'serializable'])(
    'a delete under %s fails with 40001 when another receive has come in between',
    async (level) => {
      const name = await createQueue(pool);
      await send(pool, name, 'a');
      const early = await receiveOne(pool, name);
      const session = await openSession(database);
      await session.query(`begin isolation level ${level}`);
      await session.query('select from effects');
      await letTimePass(pool, name, '1 minute');
      await receiveOne(pool, name);
      await expect(deleteMessage(session, name, early.receipt_handle)).rejects.toMatchObject({
        code: '40001',
      });
      await session.query('rollback');
      await session.query(`begin isolation level ${level}`);
      await expect(deleteMessage(session, name, early.receipt_handle)).rejects.toMatchObject({
        code: 'TQ008',
      });
      await session.query('rollback');
    },
  );

  it('read uncommitted is read committed, as always in PostgreSQL', async () => {
    const name = await createQueue(pool, { FifoQueue: true, ContentBasedDeduplication: true });
    await send(pool, name, 'before', { message_group_id: 'known' });
    const session = await openSession(database);
    await session.query('begin isolation level read uncommitted');
    await send(session, name, 'after', { message_group_id: 'known' });
    // Repeatable read would keep consumers from the group, and the transaction from what it has sent itself.
    expect(await receiveOne(pool, name)).toMatchObject({ body: 'before' });
    await send(session, name, 'own', { message_group_id: 'new' });
    expect(await receiveOne(session, name)).toMatchObject({ body: 'own' });
    await session.query('rollback');
  });

  it.each(kinds)('sends and receives work under serializable on a $kind queue', async (kind) => {
    const name = await createQueue(pool, kind.queue);
    const session = await openSession(database);
    await session.query('begin isolation level serializable');
    await send(session, name, 'a', kind.fifo);
    await session.query('commit');
    await session.query('begin isolation level serializable');
    const { receipt_handle } = await receiveOne(session, name);
    await deleteMessage(session, name, receipt_handle);
    await session.query('commit');
    expect(await receive(pool, name)).toEqual([]);
  });
});

describe('a change of a queue beside a purge that has not committed', () => {
  async function besidePurge(change: (session: Client, name: string) => Promise<unknown>) {
    const name = await createQueue(pool);
    const purger = await openSession(database);
    await purger.query('begin');
    await call(purger, 'purge_queue', { queue_name: name });
    const session = await openSession(database);
    const changed = change(session, name).then(
      () => 'done',
      (error: { code: string }) => error.code,
    );
    await waitUntilBlocked(pool, '_queue');
    await purger.query('commit');
    return { name, outcome: await changed };
  }

  it('lets a second purge say that one was done a moment ago', async () => {
    const { outcome } = await besidePurge((session, name) =>
      call(session, 'purge_queue', { queue_name: name }),
    );
    expect(outcome).toBe('TQ003');
  });

  it('deletes the queue', async () => {
    const { name, outcome } = await besidePurge((session, queueName) =>
      call(session, 'delete_queue', { queue_name: queueName }),
    );
    expect(outcome).toBe('done');
    expect(await call(pool, 'list_queues', { queue_name_prefix: name })).toEqual([]);
  });

  it('sets attributes', async () => {
    const { name, outcome } = await besidePurge((session, queueName) =>
      call(session, 'set_queue_attributes', {
        queue_name: queueName,
        attributes: '{"DelaySeconds": 7}',
      }),
    );
    expect(outcome).toBe('done');
    expect(await counts(name)).toMatchObject({ DelaySeconds: '7' });
  });

  it('fails with 40001 under repeatable read', async () => {
    const { outcome } = await besidePurge(async (session, name) => {
      await session.query('begin isolation level repeatable read');
      await call(session, 'delete_queue', { queue_name: name });
    });
    expect(outcome).toBe('40001');
  });
});

it('a queue that is deleted and created anew is changed after the commit of both', async () => {
  const name = await createQueue(pool, { DelaySeconds: 1 });
  const [replacer, setter] = [await openSession(database), await openSession(database)];
  await replacer.query('begin');
  await call(replacer, 'delete_queue', { queue_name: name });
  await call(replacer, 'create_queue', { queue_name: name });
  const change = call(setter, 'set_queue_attributes', {
    queue_name: name,
    attributes: '{"DelaySeconds": 7}',
  });
  await waitUntilBlocked(pool, 'set_queue_attributes');
  await replacer.query('commit');
  await change;
  expect(await counts(name)).toMatchObject({ DelaySeconds: '7' });
});

it('a queue that another has created and deleted meanwhile is created', async () => {
  const name = `q-${randomUUID()}`;
  await pool.query(
    `create function pause() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(42);
      return null;
    end
    $$;
    create trigger pause after insert on trunkline.queues for each statement execute function pause()`,
  );
  onTestFinished(async () => {
    await pool.query('drop function pause cascade');
  });
  const [creator, deleter] = [await openSession(database), await openSession(database)];
  await creator.query('begin');
  await call(creator, 'create_queue', { queue_name: name });
  await deleter.query('begin');
  const pausing = deleter.query('select pg_advisory_xact_lock(42)');
  await waitUntilBlocked(pool, 'pg_advisory_xact_lock(42)');
  const creation = call(pool, 'create_queue', { queue_name: name });
  const created = expect(creation).resolves.toEqual([{ create_queue: true }]);
  await waitUntilBlocked(pool, 'create_queue');
  await creator.query('commit');
  await pausing;
  await waitUntilBlocked(pool, 'create_queue');
  await call(deleter, 'delete_queue', { queue_name: name });
  await deleter.query('commit');
  await created;
});

it.each([
  ['SQL', 'trunkline.set_queue_attributes($1, $2)'],
  [
    'a server',
    'trunkline._set_queue_attributes((select id from trunkline.queues where name = $1), $2)',
  ],
])(
  'attributes set by %s go with those of a transaction that was waited for',
  async (_who, setter) => {
    const name = await createQueue(pool, { FifoQueue: true, DeduplicationScope: 'messageGroup' });
    const [first, second] = [await openSession(database), await openSession(database)];
    await first.query('begin');
    await call(first, 'set_queue_attributes', {
      queue_name: name,
      attributes: '{"FifoThroughputLimit": "perMessageGroupId"}',
    });
    const setting = second.query(`select ${setter}`, [name, '{"DeduplicationScope": "queue"}']);
    const refused = expect(setting).rejects.toMatchObject({ code: 'TQ011' });
    await waitUntilBlocked(pool, 'set_queue_attributes');
    await first.query('commit');
    await refused;
    expect(await counts(name)).toMatchObject({ DeduplicationScope: 'messageGroup' });
  },
);
