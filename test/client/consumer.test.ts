import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import {
  Consumer,
  DatabaseSource,
  exponentialBackoff,
  HandlerAbortedError,
  type Message,
  type MessageSource,
  SqsSource,
  Trunkline,
} from '../../src/client/index.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';
import { gate, startConsumer } from './consuming.ts';

const database = useDatabase();
const server = useServer(database);
const trunkline = new Trunkline(database.pool);

let lastQueue = 0;

async function openQueue(attributes: { FifoQueue?: true } = {}): Promise<string> {
  lastQueue += 1;
  const queueName = `queue-${lastQueue}${attributes.FifoQueue ? '.fifo' : ''}`;
  await trunkline.createQueue({ queueName, attributes });
  return queueName;
}

async function send(queueName: string, bodies: readonly string[], group?: string): Promise<void> {
  await trunkline.sendMessageBatch({
    queueName,
    entries: bodies.map((messageBody) => ({
      messageBody,
      ...(group !== undefined && {
        messageGroupId: group,
        messageDeduplicationId: `${group}-${messageBody}`,
      }),
    })),
  });
}

async function counts(queueName: string): Promise<{ visible: number; inFlight: number }> {
  const attributes = await trunkline.getQueueAttributes({ queueName });
  return {
    visible: Number(attributes.ApproximateNumberOfMessages),
    inFlight: Number(attributes.ApproximateNumberOfMessagesNotVisible),
  };
}

async function isEmpty(queueName: string): Promise<void> {
  await expect
    .poll(() => counts(queueName), { timeout: 20_000 })
    .toEqual({ visible: 0, inFlight: 0 });
}

const sources: { name: string; open(queueName: string): MessageSource }[] = [
  { name: 'the database', open: (queueName) => new DatabaseSource(trunkline, queueName) },
  {
    name: 'HTTP',
    open: (queueName) =>
      new SqsSource(jsonClient(server.url), `${server.url}/000000000000/${queueName}`),
  },
];

describe.each(sources)('A consumer over $name', ({ open }) => {
  it('hands each message to the handler, some at a time, and deletes it', async () => {
    const queueName = await openQueue();
    const bodies = Array.from({ length: 60 }, (_, index) => `message ${index}`);
    await send(queueName, bodies);
    const handled: string[] = [];
    let atWork = 0;
    let mostAtWork = 0;
    const { errors } = startConsumer({
      source: open(queueName),
      concurrency: 7,
      async handler({ body }) {
        atWork += 1;
        mostAtWork = Math.max(mostAtWork, atWork);
        await sleep(5);
        atWork -= 1;
        handled.push(body);
      },
    });
    await isEmpty(queueName);
    expect(handled.toSorted()).toEqual(bodies.toSorted());
    expect(mostAtWork).toBe(7);
    expect(errors).toEqual([]);
  });

  it('gives the handler all that the message has', async () => {
    const queueName = await openQueue();
    const messageAttributes = {
      text: { dataType: 'String', stringValue: 'Grüße' },
      bytes: { dataType: 'Binary', binaryValue: Uint8Array.of(0, 255) },
    };
    const sent = await trunkline.sendMessage({ queueName, messageBody: 'body', messageAttributes });
    const received = await new Promise<Message>((resolve) => {
      startConsumer({ source: open(queueName), handler: async (message) => resolve(message) });
    });
    expect(received).toMatchObject({
      messageId: sent.messageId,
      body: 'body',
      md5OfBody: sent.md5OfMessageBody,
      messageAttributes,
      receiveCount: 1,
      sequenceNumber: undefined,
    });
    expect(Math.abs(received.sentAt.getTime() - Date.now())).toBeLessThan(60_000);
  });

  it('brings a failed message back after the backoff, and deletes the others', async () => {
    const queueName = await openQueue();
    await send(queueName, ['good', 'bad']);
    const failure = new Error('bad luck');
    const backoff = vi.fn(() => 0);
    const { consumer, history, saw } = startConsumer({
      source: open(queueName),
      backoff,
      async handler({ body, receiveCount }) {
        if (body === 'bad' && receiveCount < 3) {
          throw failure;
        }
      },
    });
    const failed: unknown[] = [];
    consumer.on('failed', (_message, error) => failed.push(error));
    await saw('deleted bad');
    await saw('deleted good');
    expect(history.filter((entry) => entry.endsWith('bad'))).toEqual([
      'failed bad',
      'failed bad',
      'handled bad',
      'deleted bad',
    ]);
    expect(backoff.mock.calls).toEqual([
      [1, failure],
      [2, failure],
    ]);
    expect(failed).toEqual([failure, failure]);
  });

  it('leaves a failed message hidden for the backoff', async () => {
    const queueName = await openQueue();
    await send(queueName, ['bad']);
    const { consumer, saw } = startConsumer({
      source: open(queueName),
      backoff: () => 600,
      handler: () => Promise.reject(new Error('no')),
    });
    await saw('failed bad');
    await consumer.stop();
    const { rows } = await database.pool.query<{ seconds: number }>(
      `select extract(epoch from visible_at - clock_timestamp())::float as seconds
      from trunkline.messages where body = 'bad' and receive_count = 1 order by id desc limit 1`,
    );
    expect(rows[0]?.seconds).toBeGreaterThan(590);
  });

  it('keeps a message hidden while its handler runs longer than the visibility timeout', async () => {
    const queueName = await openQueue();
    await send(queueName, ['slow']);
    const { consumer, errors, saw } = startConsumer({
      source: open(queueName),
      visibilityTimeout: 1,
      async handler(_message, { signal }) {
        await sleep(2_200, undefined, { signal });
      },
    });
    let received = 0;
    consumer.on('received', () => {
      received += 1;
    });
    await saw('deleted slow');
    expect(received).toBe(1);
    expect(errors).toEqual([]);
  });

  it('aborts the handler of a message that is gone', async () => {
    const queueName = await openQueue();
    await send(queueName, ['taken']);
    const { history, errors, saw } = startConsumer({
      source: open(queueName),
      visibilityTimeout: 1,
      heartbeatIntervalMs: 100,
      async handler({ receiptHandle }, { signal }) {
        await trunkline.deleteMessage({ queueName, receiptHandle });
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      },
    });
    await saw('stale taken');
    expect(history).toEqual(['stale taken']);
    expect(errors).toEqual([]);
  });

  it('handles the messages of a FIFO group one after another, and groups side by side', async () => {
    const queueName = await openQueue({ FifoQueue: true });
    await send(queueName, ['1', '2', '3'], 'a');
    await send(queueName, ['1', '2', '3'], 'b');
    const begun: string[] = [];
    const both = gate();
    const { errors } = startConsumer({
      source: open(queueName),
      async handler({ messageGroupId, body }) {
        begun.push(`${messageGroupId}${body}`);
        if (begun.length === 2) {
          both.open();
        }
        await both.opened;
      },
    });
    await isEmpty(queueName);
    expect(begun.slice(0, 2).toSorted()).toEqual(['a1', 'b1']);
    expect(begun.filter((name) => name.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
    expect(begun.filter((name) => name.startsWith('b'))).toEqual(['b1', 'b2', 'b3']);
    expect(errors).toEqual([]);
  });

  it('releases the later messages of a FIFO group when one fails, and handles them after it', async () => {
    const queueName = await openQueue({ FifoQueue: true });
    await send(queueName, ['1', '2', '3'], 'group');
    const { history, saw } = startConsumer({
      source: open(queueName),
      async handler({ body, receiveCount }) {
        if (body === '2' && receiveCount === 1) {
          throw new Error('not yet');
        }
      },
    });
    await saw('deleted 3');
    expect(history).toEqual([
      'handled 1',
      'deleted 1',
      'failed 2',
      'released 3',
      'handled 2',
      'deleted 2',
      'handled 3',
      'deleted 3',
    ]);
  });

  it('lets handlers finish when it stops, and receives no more', async () => {
    const queueName = await openQueue();
    await send(queueName, ['first']);
    const begun = gate();
    const finish = gate();
    const { consumer, history } = startConsumer({
      source: open(queueName),
      async handler() {
        begun.open();
        await finish.opened;
      },
    });
    await begun.opened;
    const stopped = consumer.stop({ timeoutMs: 10_000 });
    await send(queueName, ['second']);
    finish.open();
    await stopped;
    expect(history).toEqual(['handled first', 'deleted first']);
    expect(await counts(queueName)).toEqual({ visible: 1, inFlight: 0 });
  });

  it('aborts handlers when the time for stopping is over, and gives their messages back', async () => {
    const queueName = await openQueue();
    await send(queueName, ['heeds', 'ignores']);
    const begun = [gate(), gate()];
    const reasons: unknown[] = [];
    const { consumer, history } = startConsumer({
      source: open(queueName),
      async handler({ body }, { signal }) {
        begun[body === 'heeds' ? 0 : 1]?.open();
        await new Promise((_resolve, reject) => {
          if (body === 'heeds') {
            signal.addEventListener('abort', () => {
              reasons.push(signal.reason);
              reject(signal.reason);
            });
          }
        });
      },
    });
    await Promise.all(begun.map(({ opened }) => opened));
    const stopped = new Promise((resolve) => consumer.once('stopped', resolve));
    await consumer.stop({ timeoutMs: 10 });
    expect(await stopped).toEqual({ abandoned: 1 });
    expect(history.toSorted()).toEqual(['released heeds', 'released ignores']);
    expect(reasons).toEqual([expect.any(HandlerAbortedError)]);
    expect(await counts(queueName)).toEqual({ visible: 2, inFlight: 0 });
  });

  it('gives back at once what it had received and not begun when it stops', async () => {
    const queueName = await openQueue({ FifoQueue: true });
    await send(queueName, ['1', '2', '3'], 'group');
    const begun = gate();
    const finish = gate();
    const { consumer, saw, history } = startConsumer({
      source: open(queueName),
      async handler() {
        begun.open();
        await finish.opened;
      },
    });
    await begun.opened;
    const stopped = consumer.stop({ timeoutMs: 10_000 });
    await saw('released 3');
    finish.open();
    await stopped;
    expect(history).toEqual(['released 2', 'released 3', 'handled 1', 'deleted 1']);
    const [next] = await trunkline.receiveMessages({ queueName });
    expect(next?.body).toBe('2');
  });
});

describe('A consumer', () => {
  it('goes on after receives that failed, and says so', async () => {
    const queueName = await openQueue();
    await send(queueName, ['message']);
    const real = new DatabaseSource(trunkline, queueName);
    let failures = 2;
    const { errors, saw } = startConsumer({
      source: {
        receiveLimit: 10,
        async receive(request) {
          failures -= 1;
          if (failures >= 0) {
            throw new Error('no database');
          }
          return await real.receive(request);
        },
        delete: (messages) => real.delete(messages),
        changeVisibility: (changes) => real.changeVisibility(changes),
      },
      handler: async () => {},
    });
    await saw('deleted message');
    expect(errors).toEqual([new Error('no database'), new Error('no database')]);
  });

  it('tries a delete again that failed, rather than have the message handled twice', async () => {
    const queueName = await openQueue();
    await send(queueName, ['message']);
    const real = new DatabaseSource(trunkline, queueName);
    let failures = 1;
    const { history, saw } = startConsumer({
      source: {
        receiveLimit: 10,
        receive: (request) => real.receive(request),
        async delete(messages) {
          failures -= 1;
          if (failures >= 0) {
            throw new Error('no database');
          }
          return await real.delete(messages);
        },
        changeVisibility: (changes) => real.changeVisibility(changes),
      },
      handler: async () => {},
    });
    await saw('deleted message');
    expect(history).toEqual(['handled message', 'deleted message']);
  });

  it.each([
    {
      what: 'throws',
      backoff: () => {
        throw new Error('no idea');
      },
      reported: 'no idea',
    },
    { what: 'answers no number', backoff: () => Number.NaN, reported: 'backoff must answer' },
  ])('survives a backoff that $what', async ({ backoff, reported }) => {
    const queueName = await openQueue();
    await send(queueName, ['message']);
    const { errors, saw, consumer } = startConsumer({
      source: new DatabaseSource(trunkline, queueName),
      visibilityTimeout: 600,
      backoff,
      handler: () => Promise.reject(new Error('no')),
    });
    await saw('failed message');
    await consumer.stop();
    expect(errors).toEqual([
      expect.objectContaining({ message: expect.stringContaining(reported) }),
    ]);
    expect(await counts(queueName)).toEqual({ visible: 0, inFlight: 1 });
  });

  it('takes a listener that throws for no failure of the message', async () => {
    const queueName = await openQueue();
    await send(queueName, ['message']);
    const thrown = new Promise((resolve) => {
      const before = process.listeners('uncaughtException');
      process.removeAllListeners('uncaughtException');
      process.once('uncaughtException', (error) => {
        for (const listener of before) {
          process.on('uncaughtException', listener);
        }
        resolve(error);
      });
    });
    const { consumer, saw, history } = startConsumer({
      source: new DatabaseSource(trunkline, queueName),
      handler: async () => {},
    });
    consumer.on('handled', () => {
      throw new Error('bad listener');
    });
    await saw('deleted message');
    expect(await thrown).toEqual(new Error('bad listener'));
    expect(history).toEqual(['handled message', 'deleted message']);
  });

  it('stops on a signal of the process', async () => {
    const queueName = await openQueue();
    const before = process.listenerCount('SIGUSR2');
    const consumer = new Consumer({
      source: new DatabaseSource(trunkline, queueName),
      handler: async () => {},
      stopOnSignals: ['SIGUSR2'],
    });
    const ended = consumer.run();
    process.kill(process.pid, 'SIGUSR2');
    await ended;
    expect(process.listenerCount('SIGUSR2')).toBe(before);
  });

  it('says which option is out of its range', () => {
    const source = new DatabaseSource(trunkline, 'any');
    const construct = (options: object) => () =>
      new Consumer({ source, handler: async () => {}, ...options });
    expect(construct({ concurrency: 0 })).toThrow('concurrency must be from 1 to');
    expect(construct({ batchSize: 1_001 })).toThrow('batchSize must be from 1 to 1000');
    expect(construct({ visibilityTimeout: 43_201 })).toThrow('visibilityTimeout must be from 1');
    expect(construct({ waitTimeSeconds: 21 })).toThrow('waitTimeSeconds must be from 1 to 20');
    expect(construct({ visibilityTimeout: 10, heartbeatIntervalMs: 6_000 })).toThrow(
      'heartbeatIntervalMs must be from 100 to 5000',
    );
    expect(construct({ handler: undefined })).toThrow(TypeError);
    expect(construct({ handler: undefined })).toThrow('needs a handler');
  });
});

it('the backoff doubles up to its maximum, less a random part of up to a half', () => {
  const backoff = exponentialBackoff({ baseSeconds: 2, maximumSeconds: 60 });
  const random = vi.spyOn(Math, 'random');
  random.mockReturnValue(0);
  expect([1, 2, 3, 5, 6, 2_000].map((count) => backoff(count, undefined))).toEqual([
    2, 4, 8, 32, 60, 60,
  ]);
  random.mockReturnValue(0.999_999);
  expect(backoff(3, undefined)).toBeCloseTo(4, 3);
  random.mockRestore();
});
