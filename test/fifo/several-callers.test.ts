import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageStore } from '../../src/db/message-store.ts';
import { useDatabase } from '../support/database.ts';
import { createFifoQueue, inFlightQuota, receiveBodies, sendAll } from './calls.ts';

/** Receives of a FIFO queue that share a statement. */

const database = useDatabase();
const { pool } = database;

/** A queue with messages named by group and number, sent in this order. */
async function queueOf(names: readonly string[]): Promise<string> {
  const queueId = await createFifoQueue(pool);
  const messages = names.map((name) => ({ group: groupOf(name), deduplicationId: name }));
  await sendAll(pool, queueId, messages);
  return queueId;
}

function groupOf(name: string): string {
  return name.replace(/\d+$/, '');
}

async function receiveFor(
  queueId: string,
  limits: readonly number[],
  inFlightLimit = inFlightQuota,
): Promise<string[][]> {
  const received = await new MessageStore(pool).receiveFifoMessages(queueId, limits, {
    visibilityTimeoutSeconds: 30,
    inFlightLimit,
  });
  return received.map((messages) => messages.map(({ body }) => body));
}

describe('Several callers', () => {
  it('each get other groups, in order, the longest waiting first', async () => {
    const queueId = await queueOf(['a1', 'b1', 'a2', 'c1', 'b2', 'a3']);
    expect(await receiveFor(queueId, [2, 10, 10])).toEqual([['a1', 'a2'], ['b1', 'b2'], ['c1']]);
  });

  it('get more groups when one has too few messages, the first callers first', async () => {
    const queueId = await queueOf(['a1', 'b1', 'c1', 'd1', 'e1', 'e2']);
    expect(await receiveFor(queueId, [2, 3])).toEqual([
      ['a1', 'c1'],
      ['b1', 'd1', 'e1'],
    ]);
    expect(await receiveBodies(pool, queueId)).toEqual([]);
  });

  it('get nothing, or too little, when there is no more', async () => {
    const queueId = await queueOf(['a1', 'b1']);
    expect(await receiveFor(queueId, [1, 1, 1])).toEqual([['a1'], ['b1'], []]);
    expect(await receiveFor(queueId, [10, 10])).toEqual([[], []]);
  });

  it('get no more together than may be in flight', async () => {
    const queueId = await queueOf(['a1', 'a2', 'b1', 'b2', 'c1']);
    expect(await receiveFor(queueId, [2, 2, 2], 3)).toEqual([['a1', 'a2'], ['b1'], []]);
    expect(await receiveFor(queueId, [2], 3)).toEqual([[]]);
  });

  it('get what is there once, whatever they ask for', { timeout: 60_000 }, async () => {
    const anyNames = fc
      .array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 40 })
      .map((groups) => groups.map((group, index) => `${group}${index}`));
    const anyLimits = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(anyNames, anyLimits, async (names, limits) => {
        const received = await receiveFor(await queueOf(names), limits);
        const groups = received.map((messages) => [...new Set(messages.map(groupOf))]);
        const allGroups = groups.flat();
        expect(allGroups).toHaveLength(new Set(allGroups).size);
        received.forEach((messages, caller) => {
          expect(messages.length).toBeLessThanOrEqual(limits[caller] ?? 0);
          for (const group of groups[caller] ?? []) {
            const ofGroup = messages.filter((name) => groupOf(name) === group);
            const sent = names.filter((name) => groupOf(name) === group);
            expect(ofGroup).toEqual(sent.slice(0, ofGroup.length));
          }
        });
        // A caller that wanted more got all groups that were left.
        if (received.some((messages, caller) => messages.length < (limits[caller] ?? 0))) {
          expect([...allGroups].sort()).toEqual([...new Set(names.map(groupOf))].sort());
        }
      }),
      { numRuns: 60 },
    );
  });
});
