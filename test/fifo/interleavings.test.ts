import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { countMessages, rescan, settle } from '../engine/calls.ts';
import { useDatabase } from '../support/database.ts';
import {
  changeVisibility,
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
import { openParty, type Session } from './sessions.ts';

/**
 * Two or three sessions whose statements come in one chosen order. Ann is the one who has a transaction
 * open; Bob and Cid meet it.
 */

const database = useDatabase();
const { pool } = database;
const busy = { code: 'TQ006' };

function handlesOf(deliveries: readonly { receiptHandle: string }[]): string[] {
  return deliveries.map(({ receiptHandle }) => receiptHandle);
}

/** A queue in which these messages of group g are stored, and the first of them in flight. */
async function queueWithHeadInFlight(...bodies: string[]) {
  const queueId = await createFifoQueue(pool);
  for (const body of bodies) {
    await send(pool, queueId, 'g', body);
  }
  const [head] = await receive(pool, queueId, { limit: 1 });
  if (head === undefined) {
    throw new Error('There is no head.');
  }
  return { queueId, head };
}

describe('Order of commits and order of sequence numbers', () => {
  it('are one: a later send of the group waits for the first transaction', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await send(pool, queueId, 'g', '0');
    await ann.begin();
    const first = await send(ann.client, queueId, 'g', '1');
    const later = send(bob.client, queueId, 'g', '2');
    await bob.isKeptWaiting();
    const [zero] = await receive(pool, queueId);
    expect(zero?.body).toBe('0');
    await deleteAll(pool, queueId, [zero?.receiptHandle ?? '']);
    await ann.commit();
    expect((await later).sequence).toBeGreaterThan(first.sequence);
    expect(await receiveBodies(pool, queueId)).toEqual(['1', '2']);
  });

  it('are one, too, for what the first transaction sends while another waits', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    await send(ann.client, queueId, 'g', 'ann 1');
    const later = send(bob.client, queueId, 'g', 'bob');
    await bob.isKeptWaiting();
    await send(ann.client, queueId, 'g', 'ann 2');
    await ann.commit();
    await later;
    expect(await receiveBodies(pool, queueId)).toEqual(['ann 1', 'ann 2', 'bob']);
  });

  it('are one across batches that list their groups in opposite order', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    const batch = (id: string, groups: string[]) =>
      groups.map((group) => ({ group, deduplicationId: `${group}${id}` }));
    await sendAll(ann.client, queueId, batch('1', ['g', 'h']));
    const later = sendAll(bob.client, queueId, batch('2', ['i', 'h', 'g']));
    await bob.isKeptWaiting();
    await ann.commit();
    await later;
    expect((await receiveBodies(pool, queueId)).sort()).toEqual(['g1', 'g2', 'h1', 'h2', 'i2']);
  });

  it('leave other groups alone, however the send asks for the lock', async () => {
    const queueId = await createFifoQueue(pool);
    const ann = await openParty(database);
    await ann.begin();
    await send(ann.client, queueId, 'g', '1');
    await send(pool, queueId, 'h', 'waiting allowed');
    await send(pool, queueId, 'h', 'not waiting', { mayWait: false });
    expect(await receiveBodies(pool, queueId)).toEqual(['waiting allowed', 'not waiting']);
    await ann.rollback();
  });

  it('are kept by a send that does not wait: it is refused and may try again', async () => {
    const queueId = await createFifoQueue(pool);
    const ann = await openParty(database);
    await ann.begin();
    await send(ann.client, queueId, 'g', '1');
    await expect(send(pool, queueId, 'g', '2', { mayWait: false })).rejects.toMatchObject(busy);
    await ann.commit();
    await send(pool, queueId, 'g', '2', { mayWait: false });
    expect(await receiveBodies(pool, queueId)).toEqual(['1', '2']);
  });

  it('let the next send go when the first transaction rolls back', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    await send(ann.client, queueId, 'g', '1');
    const later = send(bob.client, queueId, 'g', '2');
    await bob.isKeptWaiting();
    await ann.rollback();
    await later;
    expect(await receiveBodies(pool, queueId)).toEqual(['2']);
    expect(await countMessages(pool, queueId)).toEqual({ visible: 0, inFlight: 1, delayed: 0 });
  });

  it('are one for a transaction that gave up a savepoint', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    await ann.client.query('savepoint before');
    await send(ann.client, queueId, 'g', '1');
    await ann.client.query('rollback to savepoint before');
    await send(bob.client, queueId, 'g', '2');
    await send(ann.client, queueId, 'g', '3');
    await ann.commit();
    expect(await receiveBodies(pool, queueId)).toEqual(['2', '3']);
  });
});

describe('Two sends with one deduplication id', () => {
  it('make one message: the second waits and answers the ids of the first', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    const first = await send(ann.client, queueId, 'g', 'x');
    const second = send(bob.client, queueId, 'h', 'x');
    await bob.isKeptWaiting();
    await ann.commit();
    expect(await second).toEqual(first);
    const received = await receive(pool, queueId);
    expect(received).toMatchObject([{ messageId: first.messageId, group: 'g' }]);
    expect(await countMessages(pool, queueId)).toEqual({ visible: 0, inFlight: 1, delayed: 0 });
  });

  it('make one message in one group, too', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    const first = await send(ann.client, queueId, 'g', 'x');
    const second = send(bob.client, queueId, 'g', 'x');
    await bob.isKeptWaiting();
    await ann.commit();
    expect(await second).toEqual(first);
    expect(await receiveBodies(pool, queueId)).toEqual(['x']);
  });

  it('make the second the original when the first rolls back', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    const first = await send(ann.client, queueId, 'g', 'x');
    const second = send(bob.client, queueId, 'h', 'x');
    await bob.isKeptWaiting();
    await ann.rollback();
    expect((await second).messageId).not.toBe(first.messageId);
    expect(await send(pool, queueId, 'g', 'x')).toEqual(await second);
    expect(await receive(pool, queueId)).toMatchObject([
      { messageId: (await second).messageId, group: 'h' },
    ]);
  });

  it('make one message when the scope changes while the second waits for a group', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    await send(ann.client, queueId, 'busy', 'z');
    // In one bucket with other groups or not: which of several the database locks first is its business.
    const groups = ['g', 'h', 'i', 'j', 'k', 'l'];
    const waiting = sendAll(bob.client, queueId, [
      { group: 'busy', deduplicationId: 'y' },
      ...groups.map((group) => ({ group, deduplicationId: `x ${group}` })),
    ]);
    await bob.isKeptWaiting();
    await configure(pool, queueId, { deduplication_scope: 'messageGroup' });
    const stored = await Promise.all(
      groups.map((group) =>
        send(pool, queueId, group, `x ${group}`, { mayWait: false }).catch(() => undefined),
      ),
    );
    expect(stored.some((sent) => sent !== undefined)).toBe(true);
    await ann.commit();
    const late = (await waiting).slice(1);
    stored.forEach((sent, index) => {
      if (sent !== undefined) {
        expect(late[index]?.messageId).toBe(sent.messageId);
      }
    });
  });

  it('do not know each other in two groups that deduplicate by themselves', async () => {
    const queueId = await createFifoQueue(pool, { deduplication_scope: 'messageGroup' });
    const ann = await openParty(database);
    await ann.begin();
    const first = await send(ann.client, queueId, 'g', 'x');
    const second = await send(pool, queueId, 'h', 'x');
    await ann.commit();
    expect(second.messageId).not.toBe(first.messageId);
    expect(await receiveBodies(pool, queueId)).toEqual(['x', 'x']);
  });

  it('make one message when both renew an id whose window is over', async () => {
    const queueId = await createFifoQueue(pool);
    const longAgo = new Date(Date.now() - 600_000);
    const old = await send(pool, queueId, 'f', 'x', { now: longAgo });
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    const first = await send(ann.client, queueId, 'g', 'x');
    expect(first.messageId).not.toBe(old.messageId);
    const second = send(bob.client, queueId, 'h', 'x');
    await bob.isKeptWaiting();
    await ann.commit();
    expect(await second).toEqual(first);
    const groups = (await receive(pool, queueId)).map(({ group }) => group);
    expect(groups).toEqual(['f', 'g']);
  });

  it('make the second renew an id whose renewal rolls back', async () => {
    const queueId = await createFifoQueue(pool);
    await send(pool, queueId, 'f', 'x', { now: new Date(Date.now() - 600_000) });
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    await send(ann.client, queueId, 'g', 'x');
    const second = send(bob.client, queueId, 'h', 'x');
    await bob.isKeptWaiting();
    await ann.rollback();
    await second;
    const groups = (await receive(pool, queueId)).map(({ group }) => group);
    expect(groups).toEqual(['f', 'h']);
  });

  it('cannot deadlock, whatever order they list several ids in', async () => {
    const queueId = await createFifoQueue(pool);
    const listed = (group: string, ids: string[]) =>
      ids.map((deduplicationId) => ({ group, deduplicationId }));
    const [ann, bob, cid] = [
      await openParty(database),
      await openParty(database),
      await openParty(database),
    ];
    await ann.begin();
    await send(ann.client, queueId, 'f', 'm');
    const one = sendAll(bob.client, queueId, listed('g', ['a', 'm', 'z']));
    await bob.isKeptWaiting();
    const other = sendAll(cid.client, queueId, listed('h', ['z', 'm', 'a']));
    await cid.isKeptWaiting();
    await ann.commit();
    expect(await other).toEqual((await one).reverse());
    expect((await receiveBodies(pool, queueId)).sort()).toEqual(['a', 'm', 'z']);
  });
});

describe('A deduplication id that the janitor removes', () => {
  /** Sends x, whose window is over, and y, for which it has to wait with x looked at already. */
  async function renewWhileWaiting(forget: (queueId: string) => Promise<unknown>) {
    const queueId = await createFifoQueue(pool);
    await send(pool, queueId, 'f', 'x', { now: new Date(Date.now() - 600_000) });
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    await send(ann.client, queueId, 'h', 'y');
    const renewal = sendAll(bob.client, queueId, [
      { group: 'g', deduplicationId: 'x' },
      { group: 'g', deduplicationId: 'y' },
    ]);
    await bob.isKeptWaiting();
    await forget(queueId);
    await ann.rollback();
    return { queueId, sent: await renewal };
  }

  it('while a send is about to renew it costs no message', async () => {
    const { queueId, sent } = await renewWhileWaiting(() => forgetHistory(pool, 1_000));
    expect(sent[0]?.messageId).toEqual(expect.any(String));
    const received = await receive(pool, queueId);
    expect(received.map(({ group, body }) => group + body)).toEqual(['fx', 'gx', 'gy']);
  });

  it('before a send leaves the send a first one', async () => {
    const queueId = await createFifoQueue(pool);
    await send(pool, queueId, 'f', 'x', { now: new Date(Date.now() - 600_000) });
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    expect(await forgetHistory(ann.client, 1_000)).toBeGreaterThan(0);
    const renewal = send(bob.client, queueId, 'g', 'x');
    await bob.isKeptWaiting();
    await ann.commit();
    await renewal;
    expect(await receiveBodies(pool, queueId)).toEqual(['x', 'x']);
  });
});

describe("A group's row", () => {
  const doors = [
    { door: 'the server', isOwnTransaction: true },
    { door: 'an application', isOwnTransaction: false },
  ];

  it.each(doors)(
    'outlives the deletion of its last message by $door while a send is uncommitted',
    async ({ isOwnTransaction }) => {
      const { queueId, head } = await queueWithHeadInFlight('1');
      const ann = await openParty(database);
      await ann.begin();
      await send(ann.client, queueId, 'g', '2');
      expect(await deleteAll(pool, queueId, [head.receiptHandle], { isOwnTransaction })).toEqual([
        'deleted',
      ]);
      await forgetHistory(pool, 1_000);
      expect(await receive(pool, queueId)).toEqual([]);
      await ann.commit();
      expect(await receiveBodies(pool, queueId)).toEqual(['2']);
      await send(pool, queueId, 'g', '3');
      expect(await receive(pool, queueId)).toEqual([]);
    },
  );

  it.each(doors)(
    'is empty when $door has deleted the last message and the send rolls back, and goes a minute later',
    async ({ isOwnTransaction }) => {
      const { queueId, head } = await queueWithHeadInFlight('1');
      const ann = await openParty(database);
      await ann.begin();
      await send(ann.client, queueId, 'g', '2');
      await deleteAll(pool, queueId, [head.receiptHandle], { isOwnTransaction });
      await ann.rollback();
      expect(await groupRows(pool, queueId)).toEqual({ g: 'drained' });
      await forgetHistory(pool, 1_000);
      expect(await groupRows(pool, queueId)).toEqual({ g: 'empty' });
      await forgetHistory(pool, 1_000, new Date(Date.now() + 50_000));
      expect(await groupRows(pool, queueId)).toEqual({ g: 'empty' });
      await forgetHistory(pool, 1_000, new Date(Date.now() + 61_000));
      expect(await groupRows(pool, queueId)).toEqual({});
      await send(pool, queueId, 'g', '3');
      expect(await receiveBodies(pool, queueId)).toEqual(['3']);
    },
  );

  it('is empty at once when the server deletes the last message, and later otherwise', async () => {
    for (const { isOwnTransaction } of doors) {
      const { queueId, head } = await queueWithHeadInFlight('1');
      await deleteAll(pool, queueId, [head.receiptHandle], { isOwnTransaction });
      expect(await groupRows(pool, queueId)).toEqual({
        g: isOwnTransaction ? 'empty' : 'drained',
      });
    }
  });

  it.each(['commits', 'rolls back'] as const)(
    'is waited for by a send when the deletion that leaves it empty %s afterwards',
    async (end) => {
      const { queueId, head } = await queueWithHeadInFlight('1');
      const [ann, bob] = [await openParty(database), await openParty(database)];
      await ann.begin();
      await deleteAll(ann.client, queueId, [head.receiptHandle], { isOwnTransaction: true });
      await expect(send(pool, queueId, 'g', '2', { mayWait: false })).rejects.toMatchObject(busy);
      const sent = send(bob.client, queueId, 'g', '2');
      await bob.isKeptWaiting();
      await (end === 'commits' ? ann.commit() : ann.rollback());
      await sent;
      const later = new Date(Date.now() + 60_000);
      expect(await receiveBodies(pool, queueId, { now: later })).toEqual(
        end === 'commits' ? ['2'] : ['1', '2'],
      );
    },
  );

  describe.each(['repeatable read', 'serializable'] as const)('under %s', (isolation) => {
    it('that is drained keeps a message that a later send does not see', async () => {
      const { queueId, head } = await queueWithHeadInFlight('0');
      const [ann, bob] = [await openParty(database), await openParty(database)];
      await ann.begin();
      await send(ann.client, queueId, 'g', '1');
      await deleteAll(pool, queueId, [head.receiptHandle]);
      await bob.begin(isolation);
      await bob.client.query('select from trunkline.queues');
      await ann.commit();
      await send(bob.client, queueId, 'g', '2');
      await bob.commit();
      expect(await receiveBodies(pool, queueId)).toEqual(['1', '2']);
    });

    it('keeps a message that the transaction does not see when it deletes the one before', async () => {
      const { queueId, head } = await queueWithHeadInFlight('0');
      const bob = await openParty(database);
      await bob.begin(isolation);
      await bob.client.query('select from trunkline.queues');
      await send(pool, queueId, 'g', '1');
      await send(bob.client, queueId, 'g', '2');
      expect(await deleteAll(bob.client, queueId, [head.receiptHandle])).toEqual(['deleted']);
      await bob.commit();
      expect(await receiveBodies(pool, queueId)).toEqual(['1', '2']);
    });

    it('gives the transaction none of its own messages, which others may come before', async () => {
      const queueId = await createFifoQueue(pool);
      await send(pool, queueId, 'g', '0');
      const bob = await openParty(database);
      await bob.begin(isolation);
      await bob.client.query('select from trunkline.queues');
      await send(pool, queueId, 'g', '1');
      await bob.client.query('savepoint before');
      await send(bob.client, queueId, 'g', 'undone');
      await bob.client.query('rollback to before');
      await send(bob.client, queueId, 'g', '2');
      expect(await receiveBodies(bob.client, queueId)).toEqual(['0']);
      await bob.rollback();
      await bob.begin(isolation);
      await send(bob.client, queueId, 'g', '2');
      expect(await receiveBodies(bob.client, queueId)).toEqual(['0', '1']);
      await bob.commit();
      expect(await receive(pool, queueId)).toEqual([]);
    });
  });

  it('is taken into use again by a receive when the send could not do so', async () => {
    const { queueId, head } = await queueWithHeadInFlight('1');
    const ann = await openParty(database);
    await ann.begin();
    await deleteAll(ann.client, queueId, [head.receiptHandle]);
    // Ann's deletion is not committed, so to this send the group is in use.
    await send(pool, queueId, 'g', '2');
    expect(await receive(pool, queueId)).toEqual([]);
    await ann.commit();
    await send(pool, queueId, 'g', '3');
    expect(await receiveBodies(pool, queueId, { limit: 1 })).toEqual(['2']);
    expect(await receive(pool, queueId)).toEqual([]);
  });

  it('that is drained and held by a consumer does not hold up a send', async () => {
    const { queueId, head } = await queueWithHeadInFlight('1');
    await deleteAll(pool, queueId, [head.receiptHandle]);
    const ann = await openParty(database);
    await ann.begin();
    await ann.client.query('select from trunkline.message_groups where queue_id = $1 for update', [
      queueId,
    ]);
    await send(pool, queueId, 'g', '2', { mayWait: false });
    await ann.commit();
    expect(await receiveBodies(pool, queueId)).toEqual(['2']);
  });

  /** Group g is drained and has message 2, which was sent before and committed after. */
  async function queueWithDrainedGroup() {
    const { queueId, head } = await queueWithHeadInFlight('1');
    const ann = await openParty(database);
    await ann.begin();
    await send(ann.client, queueId, 'g', '2');
    await deleteAll(pool, queueId, [head.receiptHandle], { isOwnTransaction: true });
    await ann.commit();
    return queueId;
  }

  it('that is drained is not removed when it has a message', async () => {
    const queueId = await queueWithDrainedGroup();
    await forgetHistory(pool, 1_000);
    expect(await groupRows(pool, queueId)).toEqual({ g: 'in use' });
    expect(await receiveBodies(pool, queueId)).toEqual(['2']);
  });

  it('that is drained is not kept from consumers by an open send', async () => {
    const queueId = await queueWithDrainedGroup();
    const bob = await openParty(database);
    await bob.begin();
    await send(bob.client, queueId, 'g', '3');
    expect(await receiveBodies(pool, queueId)).toEqual(['2']);
    await bob.commit();
    expect(await receive(pool, queueId)).toEqual([]);
  });

  it('that is drained, though it has a message, does not starve on a busy queue', async () => {
    const queueId = await queueWithDrainedGroup();
    for (const group of ['h', 'i', 'j']) {
      await send(pool, queueId, group, group);
    }
    const seen = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      await forgetHistory(pool, 1_000);
      const options = { limit: 1, visibilityTimeoutSeconds: 0 };
      seen.add(String(await receiveBodies(pool, queueId, options)));
    }
    expect([...seen].sort()).toEqual(['2', 'h', 'i', 'j']);
  });

  it('that is drained, though it has a message, goes by that one when a later one is delayed', async () => {
    const queueId = await queueWithDrainedGroup();
    await pool.query('update trunkline.queues set delay_seconds = 900 where id = $1', [queueId]);
    await send(pool, queueId, 'g', 'delayed', { mayWait: false });
    expect(await receiveBodies(pool, queueId)).toEqual(['2']);
  });

  it('that is empty is used again by a send, and is in order', async () => {
    const { queueId, head } = await queueWithHeadInFlight('1');
    await deleteAll(pool, queueId, [head.receiptHandle], { isOwnTransaction: true });
    await send(pool, queueId, 'g', '2');
    await send(pool, queueId, 'g', '3');
    expect(await groupRows(pool, queueId)).toEqual({ g: 'in use' });
    expect(await receiveBodies(pool, queueId)).toEqual(['2', '3']);
  });

  it.each(['commits', 'rolls back'] as const)(
    'that is empty, while a second deletion of its last message %s, keeps no message from consumers',
    async (end) => {
      const { queueId, head } = await queueWithHeadInFlight('1');
      const [ann, bob, eve] = [
        await openParty(database),
        await openParty(database),
        await openParty(database),
      ];
      await ann.begin();
      await deleteAll(ann.client, queueId, [head.receiptHandle], { isOwnTransaction: true });
      await bob.begin();
      const second = deleteAll(bob.client, queueId, [head.receiptHandle]);
      await bob.isKeptWaiting();
      await ann.commit();
      expect(await second).toEqual(['missing']);

      await expect(send(pool, queueId, 'g', '2', { mayWait: false })).rejects.toMatchObject({
        code: '55P03',
      });
      const sent = send(eve.client, queueId, 'g', '2');
      await eve.isKeptWaiting();
      await (end === 'commits' ? bob.commit() : bob.rollback());
      await sent;
      expect(await receiveBodies(pool, queueId)).toEqual(['2']);
    },
  );

  it('that is empty is not removed when it is in use by then', async () => {
    const { queueId, head } = await queueWithHeadInFlight('1');
    await deleteAll(pool, queueId, [head.receiptHandle], { isOwnTransaction: true });
    const ann = await openParty(database);
    await ann.begin();
    await send(ann.client, queueId, 'g', '2');
    await forgetHistory(pool, 1_000, new Date(Date.now() + 61_000));
    await ann.commit();
    await forgetHistory(pool, 1_000, new Date(Date.now() + 61_000));
    expect(await groupRows(pool, queueId)).toEqual({ g: 'in use' });
    expect(await receiveBodies(pool, queueId)).toEqual(['2']);
  });

  it.each(['commits', 'rolls back'] as const)(
    'that is empty is waited for by a send while it is removed, when the removal %s',
    async (end) => {
      const { queueId, head } = await queueWithHeadInFlight('1');
      await deleteAll(pool, queueId, [head.receiptHandle], { isOwnTransaction: true });
      const [ann, bob] = [await openParty(database), await openParty(database)];
      await ann.begin();
      await forgetHistory(ann.client, 1_000, new Date(Date.now() + 61_000));
      expect(await groupRows(ann.client, queueId)).toEqual({});
      const sent = send(bob.client, queueId, 'g', '2');
      await bob.isKeptWaiting();
      await (end === 'commits' ? ann.commit() : ann.rollback());
      await sent;
      expect(await receiveBodies(pool, queueId)).toEqual(['2']);
    },
  );

  /** Moves the low-water marks on as far as they may go. */
  async function moveMarks(queueId: string): Promise<void> {
    for (let round = 0; round < 5; round += 1) {
      await send(pool, queueId, 'h', `passing ${randomUUID()}`);
      await settle(pool);
    }
  }

  it('that is drained, though it has a message, is found when the marks have moved on', async () => {
    const queueId = await createFifoQueue(pool);
    await send(pool, queueId, 'g', '1');
    const [head] = await receive(pool, queueId);
    const ann = await openParty(database);
    await ann.begin();
    await deleteAll(ann.client, queueId, [head?.receiptHandle ?? '']);
    await send(pool, queueId, 'g', '2');
    await moveMarks(queueId);
    await ann.commit();
    expect(await groupRows(pool, queueId)).toMatchObject({ g: 'drained' });
    expect(await receiveBodies(pool, queueId, { limit: 1 })).toEqual(['2']);
    expect(await rescan(pool)).toEqual([]);
  });

  it('that is drained, though it has a message, stays in sight while the marks move on', async () => {
    const queueId = await queueWithDrainedGroup();
    await moveMarks(queueId);
    expect(await receiveBodies(pool, queueId, { limit: 1 })).toEqual(['2']);
    expect(await rescan(pool)).toEqual([]);
  });

  it('that is drained, though it has a message, is found behind many that have none', async () => {
    const queueId = await createFifoQueue(pool);
    const groups = Array.from({ length: 500 }, (_, index) => `earlier-${index}`);
    await sendAll(
      pool,
      queueId,
      groups.map((group) => ({ group, body: group, deduplicationId: group })),
    );
    await deleteAll(pool, queueId, handlesOf(await receive(pool, queueId, { limit: 500 })));
    await send(pool, queueId, 'g', '1');
    const [head] = await receive(pool, queueId);
    const ann = await openParty(database);
    await ann.begin();
    await send(ann.client, queueId, 'g', '2');
    await deleteAll(pool, queueId, [head?.receiptHandle ?? '']);
    await ann.commit();
    expect(await receiveBodies(pool, queueId)).toEqual(['2']);
  });

  it('that is drained and filled again and again does not starve others', async () => {
    const queueId = await createFifoQueue(pool);
    await send(pool, queueId, 'g', 'first');
    await send(pool, queueId, 'h', 'other');
    const seen: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      const received = await receive(pool, queueId, { limit: 1 });
      seen.push(...received.map(({ group }) => group));
      await deleteAll(pool, queueId, handlesOf(received));
      await send(pool, queueId, 'g', `again ${round}`);
    }
    expect(seen).toContain('h');
  });

  const sinceThen = {
    'left empty': async (queueId: string, handle: string) => {
      await deleteAll(pool, queueId, [handle], { isOwnTransaction: true });
    },
    drained: async (queueId: string, handle: string) => {
      await deleteAll(pool, queueId, [handle]);
    },
    removed: async (queueId: string, handle: string) => {
      await deleteAll(pool, queueId, [handle], { isOwnTransaction: true });
      await forgetHistory(pool, 1_000, new Date(Date.now() + 61_000));
      expect(await groupRows(pool, queueId)).toEqual({});
    },
  };
  const isolations = ['repeatable read', 'serializable'] as const;

  it.each(
    isolations.flatMap((isolation) =>
      (['left empty', 'drained', 'removed'] as const).map((change) => ({ isolation, change })),
    ),
  )(
    'that was $change since the snapshot of a $isolation transaction costs no message',
    async ({ isolation, change }) => {
      const { queueId, head } = await queueWithHeadInFlight('1');
      const ann = await openParty(database);
      await ann.begin(isolation);
      await ann.client.query('select from trunkline.queues');
      await sinceThen[change](queueId, head.receiptHandle);
      const isSent = await send(ann.client, queueId, 'g', '2')
        .then(() => ann.commit())
        .then(
          () => true,
          // Being refused is as good: what counts is that no accepted message is lost.
          () => ann.rollback().then(() => false),
        );
      expect(await receiveBodies(pool, queueId)).toEqual(isSent ? ['2'] : []);
    },
  );
});

describe('A receive', () => {
  it('passes over a group whose last message in flight is being deleted, and gets the next one after the commit', async () => {
    const { queueId, head } = await queueWithHeadInFlight('1', '2');
    const ann = await openParty(database);
    await ann.begin();
    await deleteAll(ann.client, queueId, [head.receiptHandle]);
    expect(await receive(pool, queueId)).toEqual([]);
    await ann.commit();
    expect(await receiveBodies(pool, queueId)).toEqual(['2']);
  });

  it('gets nothing when the deletion rolls back, and later the head first', async () => {
    const { queueId, head } = await queueWithHeadInFlight('1', '2');
    const ann = await openParty(database);
    await ann.begin();
    await deleteAll(ann.client, queueId, [head.receiptHandle]);
    await ann.rollback();
    expect(await receive(pool, queueId)).toEqual([]);
    const now = new Date(Date.now() + 60_000);
    expect(await receiveBodies(pool, queueId, { now })).toEqual(['1', '2']);
  });

  it('that comes first wins over the deletion by an earlier handle, which waits', async () => {
    const { queueId, head } = await queueWithHeadInFlight('1', '2');
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    const now = new Date(Date.now() + 60_000);
    expect(await receiveBodies(ann.client, queueId, { now })).toEqual(['1', '2']);
    const deletion = deleteAll(bob.client, queueId, [head.receiptHandle]);
    await bob.isKeptWaiting();
    await ann.commit();
    expect(await deletion).toEqual(['expired']);
    expect(await countMessages(pool, queueId)).toMatchObject({ inFlight: 2 });
  });

  it('gets a message that is being released after the commit', async () => {
    const { queueId, head } = await queueWithHeadInFlight('1', '2');
    const ann = await openParty(database);
    await ann.begin();
    await changeVisibility(ann.client, queueId, [
      { receiptHandle: head.receiptHandle, timeoutSeconds: 0 },
    ]);
    expect(await receive(pool, queueId)).toEqual([]);
    await ann.commit();
    expect(await receiveBodies(pool, queueId)).toEqual(['1', '2']);
  });

  it('that rolls back leaves the order as it was', async () => {
    const queueId = await createFifoQueue(pool);
    for (const id of ['1', '2', '3']) {
      await send(pool, queueId, 'g', id);
    }
    const ann = await openParty(database);
    await ann.begin();
    expect(await receiveBodies(ann.client, queueId, { limit: 2 })).toEqual(['1', '2']);
    expect(await receive(pool, queueId)).toEqual([]);
    await ann.rollback();
    const received = await receive(pool, queueId);
    expect(received.map(({ body, receiveCount }) => [body, receiveCount])).toEqual([
      ['1', 1],
      ['2', 1],
      ['3', 1],
    ]);
  });

  it('does not starve behind groups that another has locked', async () => {
    const queueId = await createFifoQueue(pool);
    const groups = Array.from({ length: 25 }, (_, index) => `g${index}`);
    await sendAll(
      pool,
      queueId,
      groups.map((group) => ({ group, deduplicationId: group })),
    );
    const parties: Session[] = [];
    const seen: string[] = [];
    for (const expected of [10, 10, 5, 0]) {
      const party = await openParty(database);
      parties.push(party);
      await party.begin();
      const bodies = await receiveBodies(party.client, queueId);
      expect(bodies).toHaveLength(expected);
      seen.push(...bodies);
    }
    expect(seen.sort()).toEqual(groups.sort());
    await Promise.all(parties.map((party) => party.rollback()));
  });

  it('finds a message whose transaction took long, though the mark has moved on', async () => {
    const queueId = await createFifoQueue(pool);
    const ann = await openParty(database);
    await ann.begin();
    await send(ann.client, queueId, 'g', '1');
    for (let round = 0; round < 5; round += 1) {
      await send(pool, queueId, 'h', `passing ${round}`);
      const received = await receive(pool, queueId);
      await deleteAll(pool, queueId, handlesOf(received), { isOwnTransaction: true });
      await settle(pool);
    }
    await ann.commit();
    expect(await receiveBodies(pool, queueId)).toEqual(['1']);
    expect(await rescan(pool)).toEqual([]);
  });
});

describe('Two receives with one attempt id', () => {
  async function queueOfTwoGroups() {
    const queueId = await createFifoQueue(pool);
    for (const group of ['g', 'h']) {
      await send(pool, queueId, group, `${group}1`);
      await send(pool, queueId, group, `${group}2`);
    }
    return queueId;
  }

  it('at the same time hand out the same messages once', async () => {
    const queueId = await queueOfTwoGroups();
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    const first = await receive(ann.client, queueId, { limit: 2, attemptId: 'a' });
    const repeat = receive(bob.client, queueId, { limit: 2, attemptId: 'a' });
    await bob.isKeptWaiting();
    await ann.commit();
    expect(await repeat).toEqual(first);
    expect(await countMessages(pool, queueId)).toEqual({ visible: 2, inFlight: 2, delayed: 0 });
  });

  it('are two receives when the first rolls back', async () => {
    const queueId = await queueOfTwoGroups();
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    await receive(ann.client, queueId, { limit: 2, attemptId: 'a' });
    const second = receiveBodies(bob.client, queueId, { limit: 2, attemptId: 'a' });
    await bob.isKeptWaiting();
    await ann.rollback();
    expect(await second).toEqual(['g1', 'g2']);
  });

  it('do not wait for receives with another id or none', async () => {
    const queueId = await queueOfTwoGroups();
    const ann = await openParty(database);
    await ann.begin();
    await receive(ann.client, queueId, { limit: 2, attemptId: 'a' });
    expect(await receiveBodies(pool, queueId, { limit: 1, attemptId: 'b' })).toEqual(['h1']);
    expect(await receive(pool, queueId)).toEqual([]);
    await ann.rollback();
  });
});

describe('Deletions', () => {
  it('of one group at the same time leave its next message ready', async () => {
    const queueId = await createFifoQueue(pool);
    for (const id of ['1', '2', '3']) {
      await send(pool, queueId, 'g', id);
    }
    const [one, two] = handlesOf(await receive(pool, queueId, { limit: 2 }));
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    await deleteAll(ann.client, queueId, [one ?? '']);
    const own = { isOwnTransaction: true };
    expect(await deleteAll(pool, queueId, ['', two ?? ''], own)).toEqual(['invalid', 'busy']);
    const other = deleteAll(bob.client, queueId, [two ?? '']);
    await bob.isKeptWaiting();
    await ann.commit();
    expect(await other).toEqual(['deleted']);
    expect(await receiveBodies(pool, queueId)).toEqual(['3']);
  });

  it('in a long transaction hold up no send to the group, and no other group', async () => {
    const { queueId, head } = await queueWithHeadInFlight('1');
    const ann = await openParty(database);
    await ann.begin();
    await deleteAll(ann.client, queueId, [head.receiptHandle]);
    await send(pool, queueId, 'g', '2');
    await send(pool, queueId, 'g', '3', { mayWait: false });
    await send(pool, queueId, 'h', 'other', { mayWait: false });
    expect(await receiveBodies(pool, queueId)).toEqual(['other']);
    await ann.commit();
    expect(await receiveBodies(pool, queueId)).toEqual(['2', '3']);
  });

  it('that roll back take back their acknowledgement', async () => {
    const { queueId, head } = await queueWithHeadInFlight('1', '2');
    const ann = await openParty(database);
    await ann.begin();
    await deleteAll(ann.client, queueId, [head.receiptHandle]);
    await ann.rollback();
    expect(await deleteAll(pool, queueId, [head.receiptHandle])).toEqual(['deleted']);
    expect(await receiveBodies(pool, queueId)).toEqual(['2']);
  });
});

describe('A long transaction that has sent to a group', () => {
  it('stops neither the consumers of its committed messages nor other groups', async () => {
    const queueId = await createFifoQueue(pool);
    for (const id of ['1', '2', '3']) {
      await send(pool, queueId, 'g', id);
    }
    const ann = await openParty(database);
    await ann.begin();
    await send(ann.client, queueId, 'g', '4');

    for (const id of ['1', '2', '3']) {
      const [message] = await receive(pool, queueId, { limit: 1 });
      expect(message?.body).toBe(id);
      await send(pool, queueId, `h${id}`, `other ${id}`, { mayWait: false });
      expect(await receiveBodies(pool, queueId)).toEqual([`other ${id}`]);
      const handles = [message?.receiptHandle ?? ''];
      expect(await deleteAll(pool, queueId, handles, { isOwnTransaction: true })).toEqual([
        'deleted',
      ]);
    }
    await ann.commit();
    expect(await receiveBodies(pool, queueId)).toContain('4');
  });
});

describe('Two calls that send to several groups in opposite order', () => {
  it('cannot deadlock, because each takes its locks in one order', async () => {
    const queueId = await createFifoQueue(pool);
    const listed = (name: string, groups: string[]) =>
      groups.map((group) => ({ group, deduplicationId: `${group}-${name}` }));
    const groups = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const parties = await Promise.all(groups.map(() => openParty(database)));
    // Whatever order the locks have, one of these stops both calls half-way.
    for (const [index, group] of groups.entries()) {
      const [ann, bob, cid] = [
        parties[index],
        await openParty(database),
        await openParty(database),
      ];
      await ann?.begin();
      await send(ann?.client ?? pool, queueId, group, `${group}-ann ${index}`);
      const one = sendAll(bob.client, queueId, listed(`bob ${index}`, groups));
      await bob.isKeptWaiting();
      const other = sendAll(cid.client, queueId, listed(`cid ${index}`, [...groups].reverse()));
      await cid.isKeptWaiting();
      await ann?.commit();
      await Promise.all([one, other]);
    }
    expect(await countMessages(pool, queueId)).toMatchObject({ visible: 7 * 15 });
  });
});

describe('Two transactions that go past 128 groups in several calls', () => {
  it('end with a retryable error for one of them, even without a common group', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    const hundred = (name: string) =>
      Array.from({ length: 100 }, (_, index) => ({
        group: `${name}-${index}`,
        deduplicationId: `${name}-${index}`,
      }));
    await Promise.all([ann.begin(), bob.begin()]);
    await sendAll(ann.client, queueId, hundred('ann'));
    await sendAll(bob.client, queueId, hundred('bob'));
    const outcomes = await Promise.allSettled([
      sendAll(ann.client, queueId, hundred('ann-more')).then(() => ann.commit()),
      sendAll(bob.client, queueId, hundred('bob-more')).then(() => bob.commit()),
    ]);
    const failed = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason.code] : [],
    );
    expect(failed).toEqual(['40P01']);
    await Promise.all([ann.rollback(), bob.rollback()]);
    expect(await countMessages(pool, queueId)).toMatchObject({ visible: 200 });
  });
});

describe('Two transactions that send to two groups in opposite order', () => {
  it('end with a retryable error for one of them, and nothing is lost', async () => {
    const queueId = await createFifoQueue(pool);
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await Promise.all([ann.begin(), bob.begin()]);
    await send(ann.client, queueId, 'g', 'ann g');
    await send(bob.client, queueId, 'h', 'bob h');
    const outcomes = await Promise.allSettled([
      send(ann.client, queueId, 'h', 'ann h').then(() => ann.commit()),
      send(bob.client, queueId, 'g', 'bob g').then(() => bob.commit()),
    ]);
    const failed = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason.code] : [],
    );
    expect(failed).toEqual(['40P01']);

    const isAnnRefused = outcomes[0].status === 'rejected';
    const [loser, name] = isAnnRefused ? [ann, 'ann'] : [bob, 'bob'];
    await loser.rollback();
    await loser.begin();
    for (const group of isAnnRefused ? ['g', 'h'] : ['h', 'g']) {
      await send(loser.client, queueId, group, `${name} ${group}`);
    }
    await loser.commit();
    const winner = isAnnRefused ? 'bob' : 'ann';
    const received = await receive(pool, queueId);
    for (const group of ['g', 'h']) {
      const bodies = received.filter((one) => one.group === group).map(({ body }) => body);
      expect(bodies).toEqual([`${winner} ${group}`, `${name} ${group}`]);
    }
  });
});

describe('A transaction that sends to 100 000 groups', () => {
  it('succeeds with a bounded number of locks, and stops no consumer', {
    timeout: 60_000,
  }, async () => {
    const [queueId, otherQueueId] = [await createFifoQueue(pool), await createFifoQueue(pool)];
    await send(pool, queueId, 'before', 'before');
    const ann = await openParty(database);
    await ann.begin();
    const batch = 1_000;
    for (let first = 0; first < 100_000; first += batch) {
      await sendAll(
        ann.client,
        queueId,
        Array.from({ length: batch }, (_, index) => ({
          group: `g${first + index}`,
          deduplicationId: `d${first + index}`,
        })),
      );
    }
    const { rows } = await pool.query<{ count: string }>(
      `select count(*) from pg_locks
      where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`,
    );
    expect(Number(rows[0]?.count)).toBeLessThan(500);

    const [before] = await receive(pool, queueId);
    expect(before?.body).toBe('before');
    const handles = [before?.receiptHandle ?? ''];
    expect(await deleteAll(pool, queueId, handles, { isOwnTransaction: true })).toEqual([
      'deleted',
    ]);
    await send(pool, otherQueueId, 'g1', 'x', { mayWait: false });
    expect(await receiveBodies(pool, otherQueueId)).toEqual(['x']);
    // Beyond 128 groups the transaction has the locks of whole buckets.
    await expect(send(pool, queueId, 'g1', 'later', { mayWait: false })).rejects.toMatchObject(
      busy,
    );

    await ann.commit();
    expect(await countMessages(pool, queueId)).toEqual({
      visible: 100_000,
      inFlight: 0,
      delayed: 0,
    });
    await send(pool, queueId, 'g99999', 'later', { mayWait: false });
    expect(await receive(pool, queueId)).toHaveLength(10);
  });

  const manyGroups = Array.from({ length: 200 }, (_, index) => `g${index}`);

  function toMany(name: string) {
    return manyGroups.map((group) => ({ group, deduplicationId: `${group}-${name}` }));
  }

  it('is waited for by a send to one of them', async () => {
    const queueId = await createFifoQueue(pool);
    await send(pool, queueId, 'g7', 'g7-before');
    const [ann, bob] = [await openParty(database), await openParty(database)];
    await ann.begin();
    await sendAll(ann.client, queueId, toMany('ann'));
    const later = send(bob.client, queueId, 'g7', 'g7-bob');
    await bob.isKeptWaiting();
    await ann.commit();
    await later;
    const received = await receive(pool, queueId, { limit: 1_000 });
    const bodies = received.filter(({ group }) => group === 'g7').map(({ body }) => body);
    expect(bodies).toEqual(['g7-before', 'g7-ann', 'g7-bob']);
  });

  it.each([{ mayWait: true }, { mayWait: false }])(
    'waits for a send to one of them: %o',
    async ({ mayWait }) => {
      const queueId = await createFifoQueue(pool);
      await send(pool, queueId, 'g7', 'g7-before');
      const [ann, bob] = [await openParty(database), await openParty(database)];
      await ann.begin();
      await send(ann.client, queueId, 'g7', 'g7-ann', { mayWait });
      const later = sendAll(bob.client, queueId, toMany('bob'));
      await bob.isKeptWaiting();
      await ann.commit();
      await later;
      const received = await receive(pool, queueId, { limit: 1_000 });
      const bodies = received.filter(({ group }) => group === 'g7').map(({ body }) => body);
      expect(bodies).toEqual(['g7-before', 'g7-ann', 'g7-bob']);
    },
  );

  it('one call after the other holds at most 128 locks of groups by themselves', async () => {
    const queueId = await createFifoQueue(pool);
    const ann = await openParty(database);
    await ann.begin();
    for (let group = 0; group < 300; group += 1) {
      await send(ann.client, queueId, `g${group}`, `d${group}`);
    }
    const { rows } = await ann.client.query<{ count: string }>(
      `select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
    );
    expect(Number(rows[0]?.count)).toBeLessThan(128 + 2 * 64 + 1);
    // What it locked by itself before is still its own.
    await expect(send(pool, queueId, 'g0', 'x', { mayWait: false })).rejects.toMatchObject(busy);
    await ann.commit();
    expect(await countMessages(pool, queueId)).toMatchObject({ visible: 300 });
  });
});
