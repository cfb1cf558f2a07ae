import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { call } from '../clients/requests.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';

const database = useDatabase();
const server = useServer(database);

const settlesInMs = 200;

describe('While statements are under way', () => {
  let sqs: ReturnType<typeof jsonClient>;
  let blocker: PoolClient;

  beforeEach(async () => {
    sqs ??= jsonClient(server.url);
    blocker = await database.pool.connect();
  });
  afterEach(() => blocker.release(true));
  afterAll(() => sqs.destroy());

  /** Statements on messages wait from now on, and requests gather behind them. */
  async function block(): Promise<void> {
    await blocker.query('begin');
    await blocker.query('lock table trunkline.messages in access exclusive mode');
  }

  async function unblock(): Promise<void> {
    await blocker.query('commit');
  }

  async function isReceived(attemptId: string): Promise<boolean> {
    const { rowCount } = await database.pool.query(
      'select from trunkline.receive_attempts where attempt_id = $1',
      [attemptId],
    );
    return rowCount === 1;
  }

  async function createQueue(QueueName: string, Attributes = {}): Promise<string> {
    const { QueueUrl = '' } = await sqs.createQueue({ QueueName, Attributes });
    // The server knows the queue from here on, so that requests wait for the messages only.
    await sqs.receiveMessage({ QueueUrl });
    return QueueUrl;
  }

  it('a receiver that hangs up leaves its part to others, and theirs alone', async () => {
    const QueueUrl = await createQueue('receivers');
    for (const MessageBody of ['1', '2', '3', '4', '5']) {
      await sqs.sendMessage({ QueueUrl, MessageBody });
    }
    await block();
    const hangUp = new AbortController();
    const call = { QueueUrl, VisibilityTimeout: 600 };
    const answers = [1, 2, 3, 4, 5].map((number) =>
      sqs.receiveMessage(call, number === 3 ? { abortSignal: hangUp.signal } : {}),
    );
    const settled = Promise.allSettled(answers);
    await sleep(settlesInMs);
    hangUp.abort();
    await sleep(settlesInMs);
    await unblock();
    const received = (await settled).flatMap((answer) =>
      answer.status === 'fulfilled' ? (answer.value.Messages ?? []).map(({ Body }) => Body) : [],
    );
    expect(received).toHaveLength(4);
    const { Messages = [] } = await sqs.receiveMessage({ ...call, WaitTimeSeconds: 5 });
    received.push(...Messages.map(({ Body }) => Body));
    expect(received.toSorted()).toEqual(['1', '2', '3', '4', '5']);
  });

  it('a sender that hangs up keeps nobody from sending', async () => {
    const QueueUrl = await createQueue('senders');
    await block();
    const hangUp = new AbortController();
    const sent = Promise.allSettled(
      ['1', '2', '3'].map((MessageBody) =>
        sqs.sendMessage(
          { QueueUrl, MessageBody },
          MessageBody === '2' ? { abortSignal: hangUp.signal } : {},
        ),
      ),
    );
    await sleep(settlesInMs);
    hangUp.abort();
    await sleep(settlesInMs);
    await unblock();
    expect((await sent).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    const { Messages = [] } = await sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
    expect(Messages.map(({ Body }) => Body)).toEqual(expect.arrayContaining(['1', '3']));
  });

  it('a message group goes to one receiver of a FIFO queue, in order', async () => {
    const QueueUrl = await createQueue('groups.fifo', { FifoQueue: 'true' });
    const groups = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const MessageGroupId of groups) {
      await sqs.sendMessageBatch({
        QueueUrl,
        Entries: [1, 2, 3, 4, 5].map((number) => ({
          Id: `${number}`,
          MessageBody: `${MessageGroupId}${number}`,
          MessageGroupId,
          MessageDeduplicationId: `${MessageGroupId}${number}`,
        })),
      });
    }
    await block();
    const most = [7, 1, 3, 10, 2, 4, 10, 5, 1, 6];
    const answers = most.map((MaxNumberOfMessages) =>
      sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages }),
    );
    await sleep(settlesInMs);
    await unblock();
    const together = await Promise.all(answers);
    // Two statements ran at the same time. One may have locked a group that it then did not need.
    const later = await sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
    const received = [...together, later].map(({ Messages = [] }) =>
      Messages.map(({ Body = '' }) => Body),
    );
    expect(
      received.slice(0, -1).every((bodies, index) => bodies.length <= (most[index] ?? 0)),
    ).toBe(true);
    for (const group of groups) {
      const parts = received
        .map((bodies) => bodies.filter((body) => body.startsWith(group)))
        .filter((bodies) => bodies.length > 0);
      expect(parts).toEqual([
        [1, 2, 3, 4, 5].slice(0, parts[0]?.length).map((n) => `${group}${n}`),
      ]);
    }
  });

  it('the messages of a receive attempt stay with it when its client hangs up', async () => {
    const QueueUrl = await createQueue('attempts.fifo', {
      FifoQueue: 'true',
      ContentBasedDeduplication: 'true',
    });
    await sqs.sendMessage({ QueueUrl, MessageBody: 'once', MessageGroupId: 'group' });
    const attempt = { QueueUrl, ReceiveRequestAttemptId: 'attempt', VisibilityTimeout: 600 };
    // Such a receive waits for a tenth of a second only, and has received nothing then.
    do {
      await block();
      const hangUp = new AbortController();
      const gone = sqs.receiveMessage(attempt, { abortSignal: hangUp.signal });
      const isGone = expect(gone).rejects.toThrow();
      await sleep(40);
      hangUp.abort();
      await isGone;
      await sleep(20);
      await unblock();
      await sleep(settlesInMs);
    } while (!(await isReceived(attempt.ReceiveRequestAttemptId)));
    expect((await sqs.receiveMessage({ QueueUrl })).Messages).toBeUndefined();
    const { Messages = [] } = await sqs.receiveMessage(attempt);
    expect(Messages.map(({ Body }) => Body)).toEqual(['once']);
  });

  it('more than can gather is refused with a retryable error, and nothing else is lost', async () => {
    const QueueUrl = await createQueue('crowd');
    await block();
    const refusals: unknown[] = [];
    const batches = Array.from({ length: 700 }, async (_, batch) => {
      const answer = await call(server.url, 'SendMessageBatch', {
        QueueUrl,
        Entries: Array.from({ length: 10 }, (_entry, index) => ({
          Id: `${index}`,
          MessageBody: `${batch}-${index}`,
        })),
      });
      if (answer.status !== 200) {
        refusals.push(answer);
      }
      return answer.status;
    });
    await expect.poll(() => refusals.length, { timeout: 10_000 }).toBeGreaterThan(10);
    await unblock();
    const statuses = await Promise.all(batches);
    expect(refusals).toEqual(
      refusals.map(() => ({
        status: 403,
        output: expect.objectContaining({ __type: 'com.amazonaws.sqs#RequestThrottled' }),
      })),
    );
    const stored = 10 * statuses.filter((status) => status === 200).length;
    expect(stored).toBeGreaterThanOrEqual(6_000);
    const { Attributes } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] });
    expect(Attributes).toMatchObject({ ApproximateNumberOfMessages: String(stored) });
  });
});
