import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Delivery, HandlerAbortedError } from '../../src/client/consumer/delivery.ts';
import { Heartbeat } from '../../src/client/consumer/heartbeat.ts';
import type { VisibilityRequest } from '../../src/client/consumer/source.ts';
import type { Message } from '../../src/client/index.ts';

const visibilityTimeout = 30;
const hourMs = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Nothing of a message matters here but which it is. */
const message = (receiptHandle: string): Message => ({
  messageId: receiptHandle,
  receiptHandle,
  body: '',
  md5OfBody: '',
  messageAttributes: {},
  receiveCount: 1,
  sentAt: new Date(0),
  firstReceivedAt: new Date(0),
  senderId: undefined,
  messageGroupId: undefined,
  messageDeduplicationId: undefined,
  sequenceNumber: undefined,
  traceHeader: undefined,
  deadLetterQueueSourceArn: undefined,
});

function openHeartbeat(answer: (changes: readonly VisibilityRequest[]) => Promise<boolean[]>) {
  const errors: unknown[] = [];
  const changeVisibility = vi.fn(answer);
  const heartbeat = new Heartbeat({
    source: { changeVisibility },
    visibilityTimeout,
    intervalMs: 10_000,
    onError: (error) => errors.push(error),
  });
  const receive = (name: string) => {
    const delivery = new Delivery(message(name), performance.now(), visibilityTimeout);
    heartbeat.add(delivery);
    return delivery;
  };
  return { heartbeat, changeVisibility, errors, receive };
}

const allThere = async (changes: readonly VisibilityRequest[]) => changes.map(() => true);

describe('The heartbeat', () => {
  it('does not bother with messages that are handled within an interval', async () => {
    const { heartbeat, changeVisibility, receive } = openHeartbeat(allThere);
    const delivery = receive('quick');
    await vi.advanceTimersByTimeAsync(9_000);
    heartbeat.remove(delivery);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(changeVisibility).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('extends all that are due in one call, well before they would be visible', async () => {
    const { changeVisibility, receive } = openHeartbeat(allThere);
    receive('a');
    receive('b');
    await vi.advanceTimersByTimeAsync(15_000);
    expect(changeVisibility).toHaveBeenCalledTimes(1);
    expect(changeVisibility.mock.calls[0]?.[0].map((change) => change.visibilityTimeout)).toEqual([
      30, 30,
    ]);
  });

  it('stops extending when the 12 hours of SQS are over, and aborts the handler then', async () => {
    const { changeVisibility, receive } = openHeartbeat(allThere);
    const startedAtMs = performance.now();
    const delivery = receive('endless');
    await vi.advanceTimersByTimeAsync(12 * hourMs - 60_000);
    expect(delivery.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(70_000);
    expect(delivery.signal.reason).toEqual(new HandlerAbortedError('message lost'));
    const beyond = changeVisibility.mock.calls.filter(
      ([changes], call) =>
        (changes[0]?.visibilityTimeout ?? 0) * 1000 +
          // A beat comes every ten seconds: this is an upper bound of when the call was.
          call * 10_000 >
        12 * hourMs + startedAtMs,
    );
    expect(beyond).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('aborts the handler of a message that is gone, and goes on with the others', async () => {
    const { changeVisibility, receive } = openHeartbeat(async (changes) =>
      changes.map((change) => change.message.messageId !== 'gone'),
    );
    const gone = receive('gone');
    const there = receive('there');
    await vi.advanceTimersByTimeAsync(40_000);
    expect(gone.signal.aborted).toBe(true);
    expect(there.signal.aborted).toBe(false);
    expect(changeVisibility.mock.lastCall?.[0].map((change) => change.message.messageId)).toEqual([
      'there',
    ]);
  });

  it('reports calls that fail, and aborts handlers only when the visibility timeout has passed', async () => {
    let isDown = true;
    const { errors, receive } = openHeartbeat(async (changes) => {
      if (isDown) {
        throw new Error('no database');
      }
      return changes.map(() => true);
    });
    const saved = receive('saved');
    await vi.advanceTimersByTimeAsync(22_000);
    expect(errors.length).toBeGreaterThan(1);
    isDown = false;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(saved.signal.aborted).toBe(false);
    isDown = true;
    await vi.advanceTimersByTimeAsync(45_000);
    expect(saved.signal.reason).toEqual(new HandlerAbortedError('message lost'));
  });
});
