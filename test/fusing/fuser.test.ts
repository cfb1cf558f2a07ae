import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Fuser, type FuserOptions } from '../../src/db/fuser.ts';

/** A statement under way: what it carries, and how it ends. */
interface Statement {
  key: string;
  items: readonly string[];
  succeed(): void;
  fail(error: unknown): void;
}

const itemError = new Error('about one item');

function open(options: Partial<FuserOptions<string, string>> = {}) {
  const statements: Statement[] = [];
  const fuser = new Fuser<string, string>({
    run: (key, items) =>
      new Promise((resolve, reject) => {
        statements.push({
          key,
          items,
          succeed: () => resolve(items.map((item) => `${item} done`)),
          fail: reject,
        });
      }),
    weigh: () => 1,
    statementCapacity: 4,
    statementsPerKey: 1,
    // Never, unless a test is about it.
    slowAfterMs: 60_000,
    gatheringCapacity: 100,
    turnAway: () => new Error('turned away'),
    isItemError: (error) => error === itemError,
    ...options,
  });
  return { fuser, statements };
}

/** Lets promises that are settled already have their say. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('fusing', () => {
  it('starts at once when nothing is running', () => {
    const { fuser, statements } = open();
    void fuser.submit('queue', ['a']);
    expect(statements.map(({ items }) => items)).toEqual([['a']]);
  });

  it('carries what arrived meanwhile in one statement, in order, and answers each caller its part', async () => {
    const { fuser, statements } = open();
    const first = fuser.submit('queue', ['a']);
    const second = fuser.submit('queue', ['b', 'c']);
    const third = fuser.submit('queue', ['d']);
    statements[0]?.succeed();
    expect(await first).toEqual(['a done']);
    await settle();
    expect(statements[1]?.items).toEqual(['b', 'c', 'd']);
    statements[1]?.succeed();
    expect(await second).toEqual(['b done', 'c done']);
    expect(await third).toEqual(['d done']);
  });

  it('answers nobody before the statement that carries his work has ended', async () => {
    const { fuser, statements } = open();
    let isAnswered = false;
    void fuser.submit('queue', ['a']).then(() => {
      isAnswered = true;
    });
    await settle();
    expect(isAnswered).toBe(false);
    statements[0]?.succeed();
    await settle();
    expect(isAnswered).toBe(true);
  });

  it('keeps a caller together and within the capacity of a statement', async () => {
    const { fuser, statements } = open();
    const all = [
      fuser.submit('queue', ['a']),
      fuser.submit('queue', ['b', 'c', 'd']),
      fuser.submit('queue', ['e', 'f']),
    ];
    statements[0]?.succeed();
    await settle();
    expect(statements[1]?.items).toEqual(['b', 'c', 'd']);
    statements[1]?.succeed();
    await settle();
    expect(statements[2]?.items).toEqual(['e', 'f']);
    statements[2]?.succeed();
    await Promise.all(all);
  });

  it('takes an item that is heavier than a statement alone', async () => {
    const { fuser, statements } = open({ weigh: () => 9 });
    void fuser.submit('queue', ['a']);
    void fuser.submit('queue', ['b']);
    statements[0]?.succeed();
    await settle();
    expect(statements[1]?.items).toEqual(['b']);
  });

  it('does not let one queue hold up another', () => {
    const { fuser, statements } = open();
    void fuser.submit('busy', ['a']);
    void fuser.submit('busy', ['b']);
    void fuser.submit('other', ['c']);
    expect(statements.map(({ key, items }) => [key, ...items])).toEqual([
      ['busy', 'a'],
      ['other', 'c'],
    ]);
  });

  it('starts the next beside a statement that takes long, and no more than allowed', async () => {
    const { fuser, statements } = open({ statementsPerKey: 2, slowAfterMs: 20 });
    void fuser.submit('queue', ['slow']);
    const second = fuser.submit('queue', ['b']);
    const third = fuser.submit('queue', ['c']);
    await settle();
    expect(statements).toHaveLength(1);
    await expect.poll(() => statements.length).toBe(2);
    const fourth = fuser.submit('queue', ['d']);
    await sleep(60);
    expect(statements.map(({ items }) => items)).toEqual([['slow'], ['b', 'c']]);
    statements[1]?.succeed();
    expect(await Promise.all([second, third])).toEqual([['b done'], ['c done']]);
    await expect.poll(() => statements.length).toBe(3);
    statements[2]?.succeed();
    expect(await fourth).toEqual(['d done']);
  });

  it('starts the next beside another when it has a full load, and no more than allowed', () => {
    const { fuser, statements } = open({ statementsPerKey: 2 });
    void fuser.submit('queue', ['a']);
    void fuser.submit('queue', ['b', 'c', 'd']);
    expect(statements.map(({ items }) => items)).toEqual([['a']]);
    void fuser.submit('queue', ['e']);
    void fuser.submit('queue', ['f', 'g', 'h', 'i']);
    expect(statements.map(({ items }) => items)).toEqual([['a'], ['b', 'c', 'd', 'e']]);
  });

  it('lets an item fail alone', async () => {
    const { fuser, statements } = open();
    void fuser.submit('queue', ['first']);
    const good = fuser.submit('queue', ['good']);
    const bad = fuser.submit('queue', ['bad']);
    const badError = expect(bad).rejects.toBe(itemError);
    statements[0]?.succeed();
    await settle();
    statements[1]?.fail(itemError);
    await settle();
    expect(statements[2]?.items).toEqual(['good']);
    statements[2]?.succeed();
    expect(await good).toEqual(['good done']);
    await settle();
    expect(statements[3]?.items).toEqual(['bad']);
    statements[3]?.fail(itemError);
    await badError;
  });

  it('has those of a failed statement take turns with what came after', async () => {
    const { fuser, statements } = open();
    void fuser.submit('queue', ['first']);
    void fuser.submit('queue', ['a']);
    const second = fuser.submit('queue', ['b']);
    statements[0]?.succeed();
    await settle();
    const later = fuser.submit('queue', ['later']);
    statements[1]?.fail(itemError);
    for (let next = 2; next < 5; next += 1) {
      await settle();
      statements[next]?.succeed();
    }
    expect(await Promise.all([second, later])).toEqual([['b done'], ['later done']]);
    expect(statements.slice(2).map(({ items }) => items)).toEqual([['later'], ['a'], ['b']]);
  });

  it('fails all callers of a statement that failed as a whole, and goes on', async () => {
    const { fuser, statements } = open();
    const outage = new Error('connection lost');
    void fuser.submit('queue', ['first']);
    const results = Promise.allSettled([
      fuser.submit('queue', ['a']),
      fuser.submit('queue', ['b']),
    ]);
    statements[0]?.succeed();
    await settle();
    statements[1]?.fail(outage);
    expect((await results).map((result) => result.status)).toEqual(['rejected', 'rejected']);
    const next = fuser.submit('queue', ['c']);
    statements[2]?.succeed();
    expect(await next).toEqual(['c done']);
  });

  it('turns callers away instead of gathering without bound, until there is room again', async () => {
    const { fuser, statements } = open({ gatheringCapacity: 4 });
    void fuser.submit('queue', ['running']);
    void fuser.submit('queue', ['a 1', 'a 2']);
    void fuser.submit('queue', ['b']);
    await expect(fuser.submit('queue', ['c'])).rejects.toThrow('turned away');
    statements[0]?.succeed();
    await settle();
    void fuser.submit('queue', ['d']);
    statements[1]?.succeed();
    await settle();
    expect(statements[2]?.items).toEqual(['d']);
  });

  it('leaves room for others when one key has more than its share', async () => {
    const { fuser, statements } = open({ gatheringCapacity: 4 });
    for (const key of ['flooded', 'other', 'third']) {
      void fuser.submit(key, ['running']);
    }
    void fuser.submit('flooded', ['a', 'b', 'c']);
    await expect(fuser.submit('flooded', ['too much'])).rejects.toThrow('turned away');
    const other = fuser.submit('other', ['d']);
    await expect(fuser.submit('third', ['e'])).rejects.toThrow('turned away');
    statements[1]?.succeed();
    await settle();
    statements.find(({ items }) => items.includes('d'))?.succeed();
    expect(await other).toEqual(['d done']);
  });
});
