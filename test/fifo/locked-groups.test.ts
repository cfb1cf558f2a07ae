import type { SQS } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { timed } from '../behaviour/both-protocols.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';
import { send } from './calls.ts';
import { openParty } from './sessions.ts';

/**
 * An application's transaction has sent to a message group and stays open. The server, with a pool of ten
 * connections, meets many more sends to that group, and goes on with all else.
 */

const database = useDatabase();
const server = useServer(database, { poolSize: 10 });
let client: SQS;
/** A client has 50 sockets; the waiting sends must not keep the others from theirs. */
let waitingClient: SQS;

beforeAll(() => {
  client = jsonClient(server.url);
  waitingClient = jsonClient(server.url);
});
afterAll(() => {
  client.destroy();
  waitingClient.destroy();
});

async function createFifoQueue(name: string) {
  const { QueueUrl } = await client.createQueue({
    QueueName: `${name}.fifo`,
    Attributes: { FifoQueue: 'true' },
  });
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from trunkline.queues where name = $1',
    [`${name}.fifo`],
  );
  return { QueueUrl, queueId: String(rows[0]?.id) };
}

function post(QueueUrl: string | undefined, group: string, body: string, sender = client) {
  return sender.sendMessage({
    QueueUrl,
    MessageBody: body,
    MessageGroupId: group,
    MessageDeduplicationId: body,
  });
}

async function takeAll(QueueUrl: string | undefined): Promise<string[]> {
  const bodies: string[] = [];
  for (;;) {
    const { Messages = [] } = await client.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
    if (Messages.length === 0) {
      return bodies;
    }
    bodies.push(...Messages.map(({ Body }) => String(Body)));
    await client.deleteMessageBatch({
      QueueUrl,
      Entries: Messages.map(({ ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle })),
    });
  }
}

describe('A group that an open transaction has sent to', () => {
  it('keeps its sends waiting in order, and nobody else', async () => {
    const { QueueUrl, queueId } = await createFifoQueue('waiting');
    const other = await createFifoQueue('other');
    await post(QueueUrl, 'g', 'committed');
    const ann = await openParty(database);
    await ann.begin();
    await send(ann.client, queueId, 'g', 'first');

    const answered: string[] = [];
    const waiting = Array.from({ length: 30 }, async (_, index) => {
      const { SequenceNumber } = await post(QueueUrl, 'g', `waiting-${index}`, waitingClient);
      answered.push(String(SequenceNumber));
    });
    const { tookMs } = await timed(() =>
      Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          post(index % 2 === 0 ? QueueUrl : other.QueueUrl, `h${index % 7}`, `free-${index}`),
        ),
      ),
    );
    expect(tookMs).toBeLessThan(3_000);
    // Consumers go on too, with this group's committed message among the rest.
    const taken = await takeAll(QueueUrl);
    expect(taken).toHaveLength(21);
    expect(taken).toContain('committed');
    expect(answered).toEqual([]);

    await ann.commit();
    await Promise.all(waiting);
    expect(new Set(answered).size).toBe(30);
    const received = await takeAll(QueueUrl);
    expect(received[0]).toBe('first');
    expect(received).toHaveLength(31);
  });

  it('keeps nobody else waiting when it is one of many', async () => {
    const { QueueUrl, queueId } = await createFifoQueue('many');
    const ann = await openParty(database);
    await ann.begin();
    const groups = Array.from({ length: 30 }, (_, index) => `g${index}`);
    for (const group of groups) {
      await send(ann.client, queueId, group, `first-${group}`);
    }
    const waiting = groups.map((group) => post(QueueUrl, group, `second-${group}`, waitingClient));
    const { tookMs } = await timed(() =>
      Promise.all(Array.from({ length: 20 }, (_, index) => post(QueueUrl, 'i', `free-${index}`))),
    );
    expect(tookMs).toBeLessThan(5_000);
    await ann.commit();
    await Promise.all(waiting);
    expect(await takeAll(QueueUrl)).toHaveLength(80);
  });

  it('answers all waiting sends that they may try again, when it takes too long', async () => {
    const { QueueUrl, queueId } = await createFifoQueue('patience');
    const ann = await openParty(database);
    await ann.begin();
    await send(ann.client, queueId, 'g', 'first');
    const { answer, tookMs } = await timed(() =>
      Promise.allSettled(
        Array.from({ length: 3 }, (_, index) => post(QueueUrl, 'g', `late-${index}`)),
      ),
    );
    for (const outcome of answer) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { $metadata: { httpStatusCode: 503 } },
      });
    }
    // Each has the same patience, however many are in front.
    expect(tookMs).toBeLessThan(14_000);
    await ann.commit();
    await Promise.all(answer.map((_, index) => post(QueueUrl, 'g', `late-${index}`)));
    expect((await takeAll(QueueUrl)).sort()).toEqual(['first', 'late-0', 'late-1', 'late-2']);
  });
});

describe('A deduplication id that an open transaction has sent', () => {
  it('keeps its repeats in other groups waiting, and nobody else', async () => {
    const { QueueUrl, queueId } = await createFifoQueue('repeats');
    const ann = await openParty(database);
    await ann.begin();
    const { messageId } = await send(ann.client, queueId, 'g', 'x');
    const repeats = Array.from({ length: 30 }, (_, index) =>
      post(QueueUrl, `h${index}`, 'x', waitingClient),
    );
    const { tookMs } = await timed(() =>
      Promise.all(Array.from({ length: 20 }, (_, index) => post(QueueUrl, 'i', `free-${index}`))),
    );
    expect(tookMs).toBeLessThan(5_000);
    expect(await takeAll(QueueUrl)).toHaveLength(20);
    await ann.commit();
    for (const { MessageId } of await Promise.all(repeats)) {
      expect(MessageId).toBe(messageId);
    }
    expect(await takeAll(QueueUrl)).toEqual(['x']);
  });
});
