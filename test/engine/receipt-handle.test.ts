import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import {
  bodiesOf,
  changeVisibility,
  countMessages,
  countRows,
  createQueue,
  deleteMessages,
  deleteQueue,
  openSession,
  purgeQueue,
  receive,
  receiveOne,
  send,
} from './calls.ts';
import { waitUntilBlocked } from './locks.ts';

const database = useDatabase();
const { pool } = database;

const queueGone = { code: 'TQ001' };

async function change(queueId: string, receiptHandle: string | null, timeoutSeconds = 30) {
  return await changeVisibility(pool, queueId, [{ receiptHandle, timeoutSeconds }]);
}

/** A queue with one message in flight. */
async function queueInFlight(visibilityTimeoutSeconds = 3_600) {
  const queueId = await createQueue(pool);
  await send(pool, queueId, ['a']);
  const message = await receiveOne(pool, queueId, { visibilityTimeoutSeconds });
  return { queueId, ...message };
}

describe('a receipt handle that the queue did not give out is invalid', () => {
  function withByte(handle: string, position: number, flipped: number): string {
    const bytes = Buffer.from(handle, 'base64');
    bytes.writeUInt8(bytes.readUInt8(position) ^ flipped, position);
    return bytes.toString('base64');
  }

  const forgeries: [string, (handle: string) => string | null][] = [
    [
      'random bytes',
      () => Buffer.from(crypto.getRandomValues(new Uint8Array(33))).toString('base64'),
    ],
    ['nothing', () => ''],
    ['null', () => null],
    ['plain text', () => 'not a receipt handle'],
    ['an SQL fragment', () => "') or true --"],
    ['a handle cut short', (handle) => handle.slice(0, -1)],
    ['a handle cut by a whole group of base64', (handle) => handle.slice(0, -4)],
    ['a handle with something added', (handle) => `${handle}AAAA`],
    ['a handle with a line break after it', (handle) => `${handle}\n`],
    ['a handle of another format version', (handle) => withByte(handle, 0, 0x03)],
    ['a handle with another message id', (handle) => withByte(handle, 8, 0x01)],
    ['a handle with another nonce', (handle) => withByte(handle, 24, 0x01)],
    ['a handle with another signature', (handle) => withByte(handle, 32, 0x80)],
  ];

  it.each(forgeries)('%s', async (_what, forge) => {
    const { queueId, receiptHandle } = await queueInFlight();
    const forged = forge(receiptHandle);
    expect(await deleteMessages(pool, queueId, [forged])).toEqual(['invalid']);
    expect(await change(queueId, forged, 0)).toEqual(['invalid']);
    expect(await countMessages(pool, queueId)).toMatchObject({ inFlight: 1 });
  });

  it('a handle of another queue', async () => {
    const { receiptHandle } = await queueInFlight();
    const other = await queueInFlight();
    expect(await deleteMessages(pool, other.queueId, [receiptHandle])).toEqual(['invalid']);
    expect(await change(other.queueId, receiptHandle, 0)).toEqual(['invalid']);
  });

  it('a handle of a deleted queue of the same name', async () => {
    const name = 'made-twice';
    const before = await createQueue(pool, {}, name);
    await send(pool, before, ['a']);
    const { receiptHandle } = await receiveOne(pool, before);
    await deleteQueue(pool, before);
    const after = await createQueue(pool, {}, name);
    expect(await deleteMessages(pool, after, [receiptHandle])).toEqual(['invalid']);
  });

  it('and does not keep the other entries of a batch from being done', async () => {
    const queueId = await createQueue(pool);
    await send(pool, queueId, ['a', 'b']);
    const [a, b] = (await receive(pool, queueId)).map(({ receiptHandle }) => receiptHandle);
    if (a === undefined || b === undefined) {
      throw new Error('Two messages were sent.');
    }
    const changes = [a, 'forged', b].map((receiptHandle) => ({ receiptHandle, timeoutSeconds: 9 }));
    expect(await changeVisibility(pool, queueId, changes)).toEqual([
      'changed',
      'invalid',
      'changed',
    ]);
    const handles = [a, 'forged', a, b];
    expect(await deleteMessages(pool, queueId, handles)).toEqual([
      'deleted',
      'invalid',
      'deleted',
      'deleted',
    ]);
    expect(await deleteMessages(pool, queueId, handles)).toEqual([
      'missing',
      'invalid',
      'missing',
      'missing',
    ]);
  });
});

describe('a receipt handle of an earlier receive', () => {
  it('deletes nothing once a later receive has the message', async () => {
    const { queueId, receiptHandle: early } = await queueInFlight(0);
    const { receiptHandle: late } = await receiveOne(pool, queueId);
    expect(await deleteMessages(pool, queueId, [early])).toEqual(['missing']);
    expect(await countMessages(pool, queueId)).toMatchObject({ inFlight: 1 });
    expect(await deleteMessages(pool, queueId, [early, late, early])).toEqual([
      'missing',
      'deleted',
      'missing',
    ]);
    expect(await deleteMessages(pool, queueId, [late])).toEqual(['missing']);
    expect(await countMessages(pool, queueId)).toMatchObject({ visible: 0, inFlight: 0 });
  });

  it('deletes the message while nobody received it again, also after its timeout', async () => {
    const { queueId, receiptHandle } = await queueInFlight(0);
    expect(await deleteMessages(pool, queueId, [receiptHandle])).toEqual(['deleted']);
  });

  it('still changes the visibility, as on AWS', async () => {
    const { queueId, receiptHandle: early } = await queueInFlight(0);
    expect(await change(queueId, early)).toEqual(['changed']);
    expect(await receive(pool, queueId)).toEqual([]);
    expect(await change(queueId, early, 0)).toEqual(['changed']);
    const { receiptHandle: late } = await receiveOne(pool, queueId);
    expect(await change(queueId, early, 0)).toEqual(['changed']);
    expect(await deleteMessages(pool, queueId, [late])).toEqual(['deleted']);
    expect(await change(queueId, early, 0)).toEqual(['missing']);
    expect(await change(queueId, late, 0)).toEqual(['missing']);
  });

  it('deletes nothing after waiting for a receive that commits', async () => {
    const { queueId, receiptHandle } = await queueInFlight(0);
    const receiver = await openSession(database);
    await receiver.query('begin');
    await receiveOne(receiver, queueId);
    const deletion = deleteMessages(pool, queueId, [receiptHandle]);
    await waitUntilBlocked(pool, '_delete_messages');
    await receiver.query('commit');
    expect(await deletion).toEqual(['missing']);
    expect(await countMessages(pool, queueId)).toMatchObject({ inFlight: 1 });
  });

  it('deletes the message after waiting for a receive that is rolled back', async () => {
    const { queueId, receiptHandle } = await queueInFlight(0);
    const receiver = await openSession(database);
    await receiver.query('begin');
    await receiveOne(receiver, queueId);
    const deletion = deleteMessages(pool, queueId, [receiptHandle]);
    await waitUntilBlocked(pool, '_delete_messages');
    await receiver.query('rollback');
    expect(await deletion).toEqual(['deleted']);
    expect(await countMessages(pool, queueId)).toMatchObject({ visible: 0, inFlight: 0 });
  });
});

it('takes the last of several changes to one message', async () => {
  const { queueId, receiptHandle } = await queueInFlight();
  const changes = [60, 0].map((timeoutSeconds) => ({ receiptHandle, timeoutSeconds }));
  expect(await changeVisibility(pool, queueId, changes)).toEqual(['changed', 'changed']);
  expect(await receive(pool, queueId)).toHaveLength(1);
});

it('has no deadlock between batches that name the same messages in different orders', async () => {
  const queueId = await createQueue(pool);
  await send(pool, queueId, Array(40).fill('a'));
  const handles = (await receive(pool, queueId, { limit: 40 })).map((each) => each.receiptHandle);
  const untilMs = performance.now() + 1_500;

  function anyBatch(): string[] {
    return handles
      .map((handle) => ({ handle, position: Math.random() }))
      .sort((a, b) => a.position - b.position)
      .slice(0, 10)
      .map(({ handle }) => handle);
  }

  async function work(): Promise<void> {
    const session = await openSession(database);
    while (performance.now() < untilMs) {
      const changes = anyBatch().map((receiptHandle) => ({ receiptHandle, timeoutSeconds: 60 }));
      await changeVisibility(session, queueId, changes);
      // Rolled back, so that there is something to fight over until the end.
      await session.query('begin');
      await deleteMessages(session, queueId, anyBatch());
      await session.query('rollback');
    }
  }

  const ends = await Promise.allSettled(Array.from({ length: 8 }, work));
  expect(ends.filter(({ status }) => status === 'rejected')).toEqual([]);
});

describe('a purge', () => {
  it('removes everything: visible, delayed and in flight', async () => {
    const { queueId } = await queueInFlight();
    await send(pool, queueId, ['visible', 'delayed'], { delaysSeconds: [0, 60] });
    const purgedId = await purgeQueue(pool, queueId);
    expect(await receive(pool, purgedId)).toEqual([]);
    expect(await countMessages(pool, purgedId)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
    await send(pool, purgedId, ['afterwards']);
    expect(await bodiesOf(receive(pool, purgedId))).toEqual(['afterwards']);
  });

  it('never shows a message whose send began before and commits after it', async () => {
    const queueId = await createQueue(pool);
    const sender = await openSession(database);
    await sender.query('begin');
    await send(sender, queueId, ['late']);
    const purgedId = await purgeQueue(pool, queueId);
    await sender.query('commit');
    expect(await countRows(pool, queueId)).toBe(1);
    expect(await receive(pool, purgedId)).toEqual([]);
    expect(await countMessages(pool, purgedId)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
    await expect(receive(pool, queueId)).rejects.toMatchObject(queueGone);
  });

  it('leaves a handle in flight that deletes nothing and is no error', async () => {
    const { queueId, receiptHandle } = await queueInFlight();
    const purgedId = await purgeQueue(pool, queueId);
    expect(await deleteMessages(pool, purgedId, [receiptHandle])).toEqual(['missing']);
    expect(await change(purgedId, receiptHandle)).toEqual(['missing']);
  });

  it('keeps the attributes of the queue', async () => {
    const queueId = await createQueue(pool, { visibility_timeout_seconds: 7 });
    const purgedId = await purgeQueue(pool, queueId);
    const { rows } = await pool.query('select * from trunkline.queues where id = $1', [purgedId]);
    expect(rows[0]).toMatchObject({ visibility_timeout_seconds: 7 });
  });

  it('is refused within 60 seconds of the one before', async () => {
    const start = new Date('2030-01-01T00:00:00Z');
    const later = (seconds: number) => new Date(start.getTime() + seconds * 1000);
    const queueId = await purgeQueue(pool, await createQueue(pool), start);
    await expect(purgeQueue(pool, queueId, later(59))).rejects.toMatchObject({ code: 'TQ003' });
    await purgeQueue(pool, queueId, later(60));
  });

  it('is done once when two come at the same time', async () => {
    const queueId = await createQueue(pool);
    const first = await openSession(database);
    await first.query('begin');
    await purgeQueue(first, queueId);
    const second = purgeQueue(pool, queueId);
    const refused = expect(second).rejects.toMatchObject(queueGone);
    await waitUntilBlocked(pool, '_purge_queue');
    await first.query('commit');
    await refused;
  });
});

describe('a deleted queue', () => {
  const calls: [string, (queueId: string) => Promise<unknown>][] = [
    ['send', (queueId) => send(pool, queueId, ['a'])],
    ['receive', (queueId) => receive(pool, queueId)],
    ['delete message', (queueId) => deleteMessages(pool, queueId, ['any'])],
    ['change visibility', (queueId) => change(queueId, 'any')],
    ['purge', (queueId) => purgeQueue(pool, queueId)],
    ['delete again', (queueId) => deleteQueue(pool, queueId)],
  ];

  it.each(calls)('does not exist for: %s', async (_name, call) => {
    const { queueId } = await queueInFlight();
    await deleteQueue(pool, queueId);
    await expect(call(queueId)).rejects.toMatchObject(queueGone);
  });

  it('is there again, as it was, when its deletion is rolled back', async () => {
    const { queueId, receiptHandle } = await queueInFlight();
    const session = await openSession(database);
    await session.query('begin');
    await deleteQueue(session, queueId);
    await session.query('rollback');
    expect(await deleteMessages(pool, queueId, [receiptHandle])).toEqual(['deleted']);
  });

  it('is empty when it is created anew, also after a late commit', async () => {
    const name = 'created-anew';
    const before = await createQueue(pool, {}, name);
    const sender = await openSession(database);
    await sender.query('begin');
    await send(sender, before, ['late']);
    await deleteQueue(pool, before);
    const after = await createQueue(pool, {}, name);
    await sender.query('commit');
    expect(await receive(pool, after)).toEqual([]);
    expect(await countMessages(pool, after)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });
});
