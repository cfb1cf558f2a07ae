import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Trunkline } from '../../src/client/index.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
/** One connection, in the role that applications are to have: it may execute the public functions only. */
const pool = new Pool({
  connectionString: database.url,
  max: 1,
  options: '-c role=trunkline_app',
  application_name: 'trunkline test',
});
const trunkline = new Trunkline(pool);

beforeAll(async () => {
  await trunkline.createQueue({ queueName: 'queue', attributes: { VisibilityTimeout: 40 } });
});
afterAll(() => pool.end());

describe('In the role trunkline_app, the library', () => {
  it('is refused the tables', async () => {
    await expect(pool.query('select from trunkline.messages')).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('manages queues', async () => {
    const queueName = 'managed.fifo';
    const attributes = { FifoQueue: true, ContentBasedDeduplication: true, VisibilityTimeout: 7 };
    await trunkline.createQueue({
      queueName: 'managed-dead.fifo',
      attributes: { FifoQueue: true },
    });
    expect(await trunkline.createQueue({ queueName, attributes, tags: { team: 'a' } })).toBe(true);
    expect(await trunkline.createQueue({ queueName, attributes })).toBe(false);
    await expect(
      trunkline.createQueue({ queueName, attributes: { ...attributes, VisibilityTimeout: 8 } }),
    ).rejects.toMatchObject({ code: 'QueueNameExists' });

    await trunkline.setQueueAttributes({
      queueName,
      attributes: {
        VisibilityTimeout: 9,
        RedrivePolicy: {
          deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:managed-dead.fifo',
          maxReceiveCount: 5,
        },
      },
    });
    await trunkline.sendMessage({ queueName, messageBody: 'body', messageGroupId: 'group' });
    const described = await trunkline.getQueueAttributes({ queueName });
    expect(described).toMatchObject({
      VisibilityTimeout: '9',
      FifoQueue: 'true',
      ApproximateNumberOfMessages: '1',
    });
    expect(JSON.parse(described.RedrivePolicy ?? '')).toMatchObject({ maxReceiveCount: 5 });

    await trunkline.purgeQueue({ queueName });
    await expect(trunkline.purgeQueue({ queueName })).rejects.toMatchObject({
      code: 'PurgeQueueInProgress',
    });
    expect(await trunkline.receiveMessages({ queueName })).toEqual([]);
    expect(await trunkline.listQueues({ queueNamePrefix: 'managed' })).toEqual([
      'managed-dead.fifo',
      queueName,
    ]);
    await trunkline.deleteQueue({ queueName });
    expect(await trunkline.listQueues()).toEqual(['managed-dead.fifo', 'queue']);
  });

  it('sends ten thousand messages in one statement, and answers in their order', async () => {
    const queueName = 'many';
    await trunkline.createQueue({ queueName });
    const entries = Array.from({ length: 10_000 }, (_, index) => ({
      messageBody: `message ${index}`,
      ...(index === 9_999 && { delaySeconds: 900 }),
    }));
    const sent = await trunkline.sendMessageBatch({ queueName, entries });
    expect(sent).toHaveLength(10_000);
    const received = await trunkline.receiveMessages({ queueName, maxNumberOfMessages: 1_000 });
    const bodies = new Map(sent.map(({ messageId }, index) => [messageId, entries[index]]));
    expect(received).toHaveLength(1_000);
    for (const { messageId, body } of received) {
      expect(bodies.get(messageId)?.messageBody).toBe(body);
    }
    expect(await trunkline.getQueueAttributes({ queueName })).toMatchObject({
      ApproximateNumberOfMessagesDelayed: '1',
    });
  });

  it('sends all messages of a batch or none', async () => {
    const entries = [{ messageBody: 'good' }, { messageBody: '' }];
    await expect(trunkline.sendMessageBatch({ queueName: 'queue', entries })).rejects.toMatchObject(
      { code: 'MissingParameter' },
    );
    expect(await trunkline.receiveMessages({ queueName: 'queue' })).toEqual([]);
    expect(await trunkline.sendMessageBatch({ queueName: 'queue', entries: [] })).toEqual([]);
  });

  it.each([
    ['a zero character', 'zero \0'],
    ['half a surrogate pair', 'half \uD83D'],
    ['a control character', 'bell \u0007'],
  ])('refuses a body with %s', async (_name, messageBody) => {
    await expect(trunkline.sendMessage({ queueName: 'queue', messageBody })).rejects.toMatchObject({
      code: 'InvalidMessageContents',
    });
  });

  it('deletes a batch whole or not at all, or whatever is still its own', async () => {
    const queueName = 'deleting';
    await trunkline.createQueue({ queueName });
    await trunkline.sendMessageBatch({
      queueName,
      entries: ['a', 'b', 'c'].map((messageBody) => ({ messageBody })),
    });
    const handles = (await trunkline.receiveMessages({ queueName, maxNumberOfMessages: 3 })).map(
      ({ receiptHandle }) => receiptHandle,
    );
    const [first = '', second = '', third = ''] = handles;
    await trunkline.deleteMessage({ queueName, receiptHandle: first });
    await expect(
      trunkline.deleteMessageBatch({ queueName, receiptHandles: [second, first] }),
    ).rejects.toMatchObject({ code: 'ReceiptHandleExpired' });
    expect(
      await trunkline.deleteMessageBatchOrIgnore({
        queueName,
        receiptHandles: [first, second, third],
      }),
    ).toEqual([false, true, true]);
    await expect(
      trunkline.deleteMessage({ queueName, receiptHandle: 'made up' }),
    ).rejects.toMatchObject({ code: 'ReceiptHandleIsInvalid' });
  });
});

describe('A number that is none, or out of its range', () => {
  it.each([
    [
      'delaySeconds',
      () => trunkline.sendMessage({ queueName: 'queue', messageBody: 'a', delaySeconds: NaN }),
    ],
    [
      'waitTimeSeconds',
      () => trunkline.receiveMessages({ queueName: 'queue', waitTimeSeconds: 21 }),
    ],
    [
      'visibilityTimeout',
      () =>
        trunkline.changeMessageVisibility({
          queueName: 'queue',
          receiptHandle: 'any',
          visibilityTimeout: NaN,
        }),
    ],
  ])('is refused by its name: %s', async (name, request) => {
    await expect(request()).rejects.toThrow(RangeError);
    await expect(request()).rejects.toThrow(name);
  });
});

describe('A receive that waits', () => {
  it('holds no connection meanwhile, and finds what is sent', async () => {
    const startedAtMs = performance.now();
    const waiting = trunkline.receiveMessages({ queueName: 'queue', waitTimeSeconds: 20 });
    // The only connection of the pool is free for this.
    await trunkline.sendMessage({ queueName: 'queue', messageBody: 'sent meanwhile' });
    const [message] = await waiting;
    expect(message?.body).toBe('sent meanwhile');
    expect(performance.now() - startedAtMs).toBeLessThan(5_000);
    await trunkline.deleteMessage({
      queueName: 'queue',
      receiptHandle: String(message?.receiptHandle),
    });
  });

  it('answers nothing when its time is up', async () => {
    const startedAtMs = performance.now();
    const request = { queueName: 'queue', waitTimeSeconds: 1 };
    expect(await trunkline.receiveMessages(request)).toEqual([]);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(1_000);
  });

  it('ends on its signal', async () => {
    const ending = new AbortController();
    const waiting = trunkline.receiveMessages({
      queueName: 'queue',
      waitTimeSeconds: 20,
      signal: ending.signal,
    });
    ending.abort();
    expect(await waiting).toEqual([]);
  });

  it('is refused in a transaction, which it would hold open', async () => {
    await trunkline.transaction(async (client) => {
      await expect(
        trunkline.receiveMessages({ queueName: 'queue', waitTimeSeconds: 1 }, client),
      ).rejects.toMatchObject({ code: 'InvalidParameterValue' });
    });
  });
});

describe('A transaction of the library', () => {
  it('rejects when a statement had failed that its work did not mind', async () => {
    const work = trunkline.transaction(async (client) => {
      await trunkline.sendMessage({ queueName: 'queue', messageBody: 'lost' }, client);
      await client.query('select 1 / 0').catch(() => {});
    });
    await expect(work).rejects.toMatchObject({ code: '25P02' });
    expect(await trunkline.receiveMessages({ queueName: 'queue' })).toEqual([]);
  });

  it('says so when the library was given something that has no transactions', async () => {
    const onClient = new Trunkline({ query: async () => ({ rows: [] }) });
    await expect(onClient.transaction(async () => {})).rejects.toThrow('cannot open transactions');
  });

  it('says so when an executor needs an adapter', async () => {
    // What TypeORM answers: the rows themselves.
    const bare = { query: async (): Promise<never> => [] as never };
    await expect(new Trunkline(bare).listQueues()).rejects.toThrow('need their adapter');
  });
});
