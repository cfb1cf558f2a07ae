import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WaitingPolls, type WaitingPollsOptions } from '../../src/operations/waiting-polls.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const intervalMs = 100;
/** An interval with the most that it is varied by. */
const longestIntervalMs = intervalMs * 1.25;

/** A queue that is nothing but a number of messages, and polls of it. */
function setUp(options: Partial<WaitingPollsOptions> = {}) {
  const lookOut = vi.fn<WaitingPollsOptions['lookOut']>(
    async (queueIds) => new Map(queueIds.map((queueId) => [queueId, null])),
  );
  const onLookOutError = vi.fn();
  const onWaitingChange = vi.fn();
  const polls = new WaitingPolls({
    lookOut,
    onLookOutError,
    onWaitingChange,
    lookOutIntervalMs: intervalMs,
    ...options,
  });
  const queue = { messages: 0, attempts: 0 };

  async function take(): Promise<string[]> {
    queue.attempts += 1;
    if (queue.messages === 0) {
      return [];
    }
    queue.messages -= 1;
    return ['message'];
  }

  async function poll(
    options: {
      queueId?: string;
      waitMs?: number;
      signal?: AbortSignal;
      attempt?: () => Promise<string[]>;
    } = {},
  ): Promise<string[]> {
    const { queueId = 'queue', waitMs = 20_000, attempt = take } = options;
    const signal = options.signal ?? new AbortController().signal;
    const joined = polls.join(queueId);
    try {
      return await joined.until(attempt, performance.now() + waitMs, signal);
    } finally {
      joined.leave();
    }
  }

  return { polls, queue, poll, lookOut, onLookOutError, onWaitingChange };
}

/** Lets everything happen that needs no time. */
async function calmDown(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

function track<Result>(promise: Promise<Result>): { value: Result | undefined } {
  const tracked: { value: Result | undefined } = { value: undefined };
  void promise.then((value) => {
    tracked.value = value;
  });
  return tracked;
}

describe('a poll', () => {
  it('is answered by its first attempt when there is a message', async () => {
    const { poll, queue, onWaitingChange } = setUp();
    queue.messages = 1;
    expect(await poll()).toEqual(['message']);
    expect(onWaitingChange).not.toHaveBeenCalled();
  });

  it('is answered empty when its time is up, and not before', async () => {
    const { poll, polls } = setUp();
    const answer = track(poll({ waitMs: 1_000 }));
    await vi.advanceTimersByTimeAsync(999);
    expect(answer.value).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(answer.value).toEqual([]);
    expect(polls.isEmpty).toBe(true);
  });

  it('is answered when its time is up though every attempt is overtaken by a hint', async () => {
    const { poll, polls } = setUp();
    const attempt = async () => {
      await vi.advanceTimersByTimeAsync(100);
      polls.hint('queue');
      return performance.now() < 60_000 ? [] : ['much too late'];
    };
    expect(await poll({ waitMs: 1_000, attempt })).toEqual([]);
  });

  it('passes an error of its attempt on and leaves', async () => {
    const { poll, polls } = setUp();
    const failure = new Error('failure');
    await expect(poll({ attempt: () => Promise.reject(failure) })).rejects.toBe(failure);
    expect(polls.isEmpty).toBe(true);
  });
});

describe('a hint', () => {
  it('wakes one waiting poll of its queue', async () => {
    const { poll, polls, queue } = setUp();
    const answers = [track(poll()), track(poll()), track(poll({ queueId: 'other' }))];
    await calmDown();
    queue.attempts = 0;
    queue.messages = 1;
    polls.hint('queue');
    await calmDown();
    expect(answers.map(({ value }) => value)).toEqual([['message'], undefined, undefined]);
    // The finder's, and that of the next one, whose turn it made.
    expect(queue.attempts).toBe(2);
  });

  it('that leads to nothing wakes no more than that one', async () => {
    const { poll, polls, queue } = setUp();
    const answers = Array.from({ length: 500 }, () => track(poll()));
    await calmDown();
    queue.attempts = 0;
    polls.hint('queue');
    await calmDown();
    expect(queue.attempts).toBe(1);
    expect(answers.every(({ value }) => value === undefined)).toBe(true);
  });

  it('wakes as many polls, one after the other, as find something', async () => {
    const { poll, polls, queue } = setUp();
    const answers = Array.from({ length: 10 }, () => track(poll()));
    await calmDown();
    queue.attempts = 0;
    queue.messages = 4;
    polls.hint('queue');
    await calmDown();
    expect(answers.filter(({ value }) => value !== undefined)).toHaveLength(4);
    expect(queue.attempts).toBe(5);
  });

  it('is not lost when it comes during an attempt', async () => {
    const { poll, polls, queue } = setUp();
    let isFirst = true;
    const answer = track(
      poll({
        async attempt() {
          if (isFirst) {
            isFirst = false;
            // The statement has looked already and found nothing; its answer is on the way.
            queue.messages = 1;
            polls.hint('queue');
            return [];
          }
          queue.messages -= 1;
          return ['message'];
        },
      }),
    );
    await calmDown();
    expect(answer.value).toEqual(['message']);
  });

  it('for a queue that nobody polls does nothing', () => {
    const { polls } = setUp();
    polls.hint('queue');
    expect(polls.isEmpty).toBe(true);
  });
});

describe('a client that hangs up', () => {
  it('ends its poll, and no hint goes to it', async () => {
    const { poll, polls, queue } = setUp();
    const client = new AbortController();
    const gone = track(poll({ signal: client.signal }));
    const other = track(poll());
    await calmDown();
    client.abort();
    await calmDown();
    expect(gone.value).toEqual([]);
    queue.messages = 1;
    polls.hint('queue');
    await calmDown();
    expect(other.value).toEqual(['message']);
  });

  it('passes on a turn that it was just given', async () => {
    const { poll, polls, queue } = setUp();
    const client = new AbortController();
    const gone = track(poll({ signal: client.signal }));
    const other = track(poll());
    await calmDown();
    queue.messages = 1;
    polls.hint('queue');
    client.abort();
    await calmDown();
    expect(gone.value).toEqual([]);
    expect(other.value).toEqual(['message']);
    expect(queue.messages).toBe(0);
  });

  it('does not begin to wait when it had gone before', async () => {
    const { poll, onWaitingChange } = setUp();
    expect(await poll({ signal: AbortSignal.abort() })).toEqual([]);
    expect(onWaitingChange).not.toHaveBeenCalled();
  });
});

describe('closing', () => {
  it('answers all waiting polls empty at once, and later ones after one attempt', async () => {
    const { poll, polls, queue } = setUp();
    const answers = [track(poll()), track(poll()), track(poll({ queueId: 'other' }))];
    await calmDown();
    polls.close();
    await calmDown();
    expect(answers.map(({ value }) => value)).toEqual([[], [], []]);
    queue.attempts = 0;
    expect(await poll()).toEqual([]);
    expect(queue.attempts).toBe(1);
  });

  it('ends the look-out', async () => {
    const { poll, polls, lookOut } = setUp();
    track(poll());
    await calmDown();
    polls.close();
    await vi.advanceTimersByTimeAsync(10 * intervalMs);
    expect(lookOut).not.toHaveBeenCalled();
  });

  it('ends a poll whose attempts are overtaken by hints', async () => {
    const { poll, polls } = setUp();
    polls.close();
    let attempts = 0;
    const attempt = async () => {
      attempts += 1;
      polls.hint('queue');
      return attempts < 100 ? [] : ['much too late'];
    };
    expect(await poll({ attempt })).toEqual([]);
  });
});

describe('the look-out', () => {
  it('runs only while somebody waits', async () => {
    const { poll, lookOut, onWaitingChange } = setUp();
    await vi.advanceTimersByTimeAsync(10 * intervalMs);
    expect(lookOut).not.toHaveBeenCalled();

    track(poll({ waitMs: 10 * intervalMs }));
    await vi.advanceTimersByTimeAsync(10 * intervalMs);
    const whileWaiting = lookOut.mock.calls.length;
    expect(whileWaiting).toBeGreaterThanOrEqual(7);
    expect(whileWaiting).toBeLessThanOrEqual(14);
    expect(onWaitingChange.mock.calls).toEqual([[true], [false]]);

    await vi.advanceTimersByTimeAsync(10 * intervalMs);
    expect(lookOut).toHaveBeenCalledTimes(whileWaiting);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('asks about all waited-for queues at once', async () => {
    const { poll, lookOut } = setUp();
    track(poll({ queueId: 'one' }));
    track(poll({ queueId: 'two' }));
    track(poll({ queueId: 'two' }));
    await vi.advanceTimersByTimeAsync(longestIntervalMs);
    expect(lookOut.mock.calls[0]).toEqual([['one', 'two']]);
  });

  it('wakes a poll for a message that is there', async () => {
    const { poll, queue } = setUp({ lookOut: async () => new Map([['queue', -3]]) });
    const answer = track(poll());
    await calmDown();
    queue.messages = 1;
    await vi.advanceTimersByTimeAsync(longestIntervalMs);
    expect(answer.value).toEqual(['message']);
  });

  it('wakes a poll at the moment when a message becomes due', async () => {
    // Between the first look-out, 7.5 to 12.5 seconds from now, and the second.
    const dueInMs = 14_000;
    const dueAtMs = performance.now() + dueInMs;
    const { poll, queue } = setUp({
      lookOutIntervalMs: 10_000,
      lookOut: async () => new Map([['queue', dueAtMs - performance.now()]]),
    });
    const answer = track(poll());
    setTimeout(() => {
      queue.messages = 1;
    }, dueInMs);
    await vi.advanceTimersByTimeAsync(dueInMs - 1);
    expect(answer.value).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2);
    expect(answer.value).toEqual(['message']);
  });

  it('wakes all polls of a queue that is gone', async () => {
    const gone = new Error('The queue is gone.');
    const { poll } = setUp({ lookOut: async () => new Map() });
    let isGone = false;
    const attempt = async () => {
      if (isGone) {
        throw gone;
      }
      return [];
    };
    const ends = Promise.allSettled([poll({ attempt }), poll({ attempt }), poll({ attempt })]);
    await calmDown();
    isGone = true;
    await vi.advanceTimersByTimeAsync(longestIntervalMs);
    expect((await ends).map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
  });

  it('goes on after a failure', async () => {
    const failure = new Error('The database is away.');
    const lookOut = vi
      .fn<WaitingPollsOptions['lookOut']>()
      .mockRejectedValueOnce(failure)
      .mockResolvedValue(new Map([['queue', 0]]));
    const { poll, queue, onLookOutError } = setUp({ lookOut });
    const answer = track(poll());
    await calmDown();
    queue.messages = 1;
    await vi.advanceTimersByTimeAsync(2 * longestIntervalMs);
    expect(onLookOutError).toHaveBeenCalledWith(failure);
    expect(answer.value).toEqual(['message']);
  });

  it('is one, also when polls come and go while it asks', async () => {
    const lookOut = vi.fn<WaitingPollsOptions['lookOut']>(async (queueIds) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return new Map(queueIds.map((queueId) => [queueId, null]));
    });
    const { poll } = setUp({ lookOut });
    for (let round = 0; round < 5; round += 1) {
      // Waits until a look-out is under way, and gives up during it.
      const client = new AbortController();
      const before = lookOut.mock.calls.length;
      const answer = poll({ signal: client.signal });
      while (lookOut.mock.calls.length === before) {
        await vi.advanceTimersByTimeAsync(1);
      }
      client.abort();
      await answer;
    }
    track(poll());
    await vi.advanceTimersByTimeAsync(10 * intervalMs);
    lookOut.mockClear();
    await vi.advanceTimersByTimeAsync(20 * intervalMs);
    // Each takes 50 ms and the pause after it at least 75.
    expect(lookOut.mock.calls.length).toBeLessThanOrEqual(16);
  });
});
