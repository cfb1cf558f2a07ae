import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  describeOverBothProtocols,
  refusal,
  type Subject,
  timed,
} from '../behaviour/both-protocols.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';
import {
  bodies,
  createFifoQueue,
  passFiveMinutes,
  postAll,
  type Received,
  take,
} from './fifo-subject.ts';

/** Deletes in one batch. */
async function deleteAll(sqs: Subject, QueueUrl: string, messages: readonly Received[]) {
  const { Failed } = await sqs.client.deleteMessageBatch({
    QueueUrl,
    Entries: messages.map(({ ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle })),
  });
  expect(Failed).toBeUndefined();
}

describeOverBothProtocols('Receiving from a FIFO queue', (sqs) => {
  it('drains a group before it goes on to the next', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g1-m1', 'g2-m1', 'g1-m2', 'g1-m3']);
    expect(bodies(await take(sqs, url))).toEqual(['g1-m1', 'g1-m2', 'g1-m3', 'g2-m1']);
  });

  it('gives the same order one by one, as long as each is deleted', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g1-m1', 'g1-m2', 'g1-m3']);
    for (const expected of ['g1-m1', 'g1-m2', 'g1-m3']) {
      const message = await sqs.receiveOne(url);
      expect(message.Body).toBe(expected);
      await sqs.delete(url, message);
    }
  });

  it('gives no later message of a group while an earlier one is in flight', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g1-m1', 'g1-m2', 'g2-m1', 'g2-m2', 'g3-m1', 'g3-m2']);
    expect((await sqs.receiveOne(url)).Body).toBe('g1-m1');
    expect((await sqs.receiveOne(url)).Body).toBe('g2-m1');
    expect(await sqs.counts(url)).toEqual({ visible: 4, inFlight: 2, delayed: 0 });
    expect(bodies(await take(sqs, url))).toEqual(['g3-m1', 'g3-m2']);
    expect(await take(sqs, url)).toEqual([]);
  });

  it('counts what a partly received group has left as visible', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g-1', 'g-2', 'g-3', 'g-4', 'g-5']);
    await take(sqs, url, { MaxNumberOfMessages: 4 });
    expect(await sqs.counts(url)).toEqual({ visible: 1, inFlight: 4, delayed: 0 });
  });

  it('gives no message twice in an answer with a timeout of 0, and the groups after the others', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g1-m1', 'g2-m1', 'g2-m2', 'g3-m1', 'g1-m2']);
    const first = await take(sqs, url, { MaxNumberOfMessages: 3, VisibilityTimeout: 0 });
    expect(bodies(first)).toEqual(['g1-m1', 'g1-m2', 'g2-m1']);
    const second = bodies(await take(sqs, url));
    expect(second[0]).toBe('g3-m1');
    // The other two have been waiting since the same moment.
    expect(second.slice(1).sort()).toEqual(['g1-m1', 'g1-m2', 'g2-m1', 'g2-m2']);
    expect(second.filter((body) => body.startsWith('g1'))).toEqual(['g1-m1', 'g1-m2']);
    expect(second.filter((body) => body.startsWith('g2'))).toEqual(['g2-m1', 'g2-m2']);
  });

  it('goes on with a group when all that was in flight is deleted', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g1-m1', 'g2-m1', 'g1-m2', 'g2-m2', 'g1-m3', 'g1-m4', 'g3-m1']);
    const first = await take(sqs, url, { MaxNumberOfMessages: 2 });
    expect(bodies(first)).toEqual(['g1-m1', 'g1-m2']);
    await deleteAll(sqs, url, first);
    expect(bodies(await take(sqs, url))).toEqual([
      ...['g2-m1', 'g2-m2', 'g3-m1'],
      ...['g1-m3', 'g1-m4'],
    ]);
  });

  it('does not go on with a group of which only a part is deleted', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g-1', 'g-2', 'g-3', 'g-4']);
    const [one, two, three] = await take(sqs, url, { MaxNumberOfMessages: 3 });
    await deleteAll(
      sqs,
      url,
      [one, two].flatMap((message) => message ?? []),
    );
    expect(await take(sqs, url)).toEqual([]);
    await deleteAll(
      sqs,
      url,
      [three].flatMap((message) => message ?? []),
    );
    expect(bodies(await take(sqs, url))).toEqual(['g-4']);
  });

  it('does not go on when a later message is deleted before an earlier one', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g-1', 'g-2', 'g-3']);
    const [one, two] = await take(sqs, url, { MaxNumberOfMessages: 2 });
    await deleteAll(
      sqs,
      url,
      [two].flatMap((message) => message ?? []),
    );
    expect(await take(sqs, url)).toEqual([]);
    await deleteAll(
      sqs,
      url,
      [one].flatMap((message) => message ?? []),
    );
    expect(bodies(await take(sqs, url))).toEqual(['g-3']);
  });

  it('gives messages back first and in order when their timeout is over', async () => {
    const url = await createFifoQueue(sqs, { VisibilityTimeout: '1' });
    await postAll(sqs, url, ['g-1', 'g-2']);
    await take(sqs, url);
    await postAll(sqs, url, ['g-3']);
    expect(await take(sqs, url)).toEqual([]);
    const again = await take(sqs, url, { WaitTimeSeconds: 5, AttributeNames: ['All'] });
    expect(bodies(again)).toEqual(['g-1', 'g-2', 'g-3']);
    expect(again.map(({ Attributes }) => Attributes?.ApproximateReceiveCount)).toEqual([
      ...['2', '2', '1'],
    ]);
  });

  it('wakes a long poll by a send, and by the deletion of what was in the way', async () => {
    const url = await createFifoQueue(sqs);
    const sent = timed(() => take(sqs, url, { WaitTimeSeconds: 10 }));
    await sleep(300);
    await postAll(sqs, url, ['g-1']);
    await postAll(sqs, url, ['g-2']);
    const { answer, tookMs } = await sent;
    expect(answer.length).toBeGreaterThan(0);
    expect(tookMs).toBeLessThan(3_000);

    const unblocked = timed(() => take(sqs, url, { WaitTimeSeconds: 10 }));
    await sleep(300);
    if (answer.length === 1) {
      await deleteAll(sqs, url, answer);
    } else {
      await sqs.change(url, answer[0] ?? { ReceiptHandle: '' }, 0);
    }
    expect((await unblocked).answer.length).toBeGreaterThan(0);
    expect((await unblocked).tookMs).toBeLessThan(3_000);
  });

  it('leaves out messages past their retention', async () => {
    const url = await createFifoQueue(sqs, { MessageRetentionPeriod: '60' });
    await postAll(sqs, url, ['g-1', 'g-2']);
    await sqs.age(url, '61 seconds');
    await postAll(sqs, url, ['g-3']);
    expect(bodies(await take(sqs, url))).toEqual(['g-3']);
  });
});

describeOverBothProtocols('A receive with an attempt id', (sqs) => {
  const attempt = { ReceiveRequestAttemptId: 'attempt-1', MaxNumberOfMessages: 2 };
  const notRetryable = {
    code: 'InvalidParameterValue',
    status: 400,
    message:
      'Value attempt-1 for parameter ReceiveRequestAttemptId is invalid. Reason: The receiveRequestAttemptId is not valid anymore since the receive call is not retryable.',
  };

  async function queueOfTwoGroups() {
    const url = await createFifoQueue(sqs, { VisibilityTimeout: '30' });
    await postAll(sqs, url, ['g-1', 'g-2', 'h-1', 'h-2']);
    return url;
  }

  it('gives the same messages with the same handles, any number of times', async () => {
    const url = await queueOfTwoGroups();
    const first = await take(sqs, url, attempt);
    expect(bodies(first)).toEqual(['g-1', 'g-2']);
    for (let repeat = 0; repeat < 3; repeat += 1) {
      const repeated = await take(sqs, url, attempt);
      expect(repeated.map(({ ReceiptHandle }) => ReceiptHandle)).toEqual(
        first.map(({ ReceiptHandle }) => ReceiptHandle),
      );
      expect(bodies(repeated)).toEqual(['g-1', 'g-2']);
    }
    expect(await sqs.counts(url)).toEqual({ visible: 2, inFlight: 2, delayed: 0 });
    await deleteAll(sqs, url, first);
  });

  it('hands out no more when it is repeated at the same time', async () => {
    const url = await queueOfTwoGroups();
    const answers = await Promise.all(Array.from({ length: 6 }, () => take(sqs, url, attempt)));
    const handles = answers.map((answer) => answer.map(({ ReceiptHandle }) => ReceiptHandle));
    expect(handles[0]).toHaveLength(2);
    expect(handles).toEqual(handles.map(() => handles[0]));
    expect(await sqs.counts(url)).toEqual({ visible: 2, inFlight: 2, delayed: 0 });
  });

  it('restarts the visibility timeout', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g-1']);
    await take(sqs, url, { ...attempt, VisibilityTimeout: 5 });
    expect(await sqs.hiddenForSeconds(url)).toBeLessThan(5.1);
    await take(sqs, url, { ...attempt, VisibilityTimeout: 100 });
    expect(await sqs.hiddenForSeconds(url)).toBeGreaterThan(90);
  });

  it('is another receive with another id', async () => {
    const url = await queueOfTwoGroups();
    await take(sqs, url, attempt);
    const other = await take(sqs, url, { ...attempt, ReceiveRequestAttemptId: 'attempt-2' });
    expect(bodies(other)).toEqual(['h-1', 'h-2']);
  });

  it('is a new receive after five minutes', async () => {
    const url = await queueOfTwoGroups();
    await take(sqs, url, attempt);
    await passFiveMinutes(sqs, url);
    expect(bodies(await take(sqs, url, attempt))).toEqual(['h-1', 'h-2']);
  });

  it('is a new receive when the first found nothing', async () => {
    const url = await createFifoQueue(sqs);
    expect(await take(sqs, url, attempt)).toEqual([]);
    await postAll(sqs, url, ['g-1']);
    expect(bodies(await take(sqs, url, attempt))).toEqual(['g-1']);
  });

  it('cannot be repeated when a message was deleted', async () => {
    const url = await queueOfTwoGroups();
    const [message] = await take(sqs, url, attempt);
    await sqs.delete(url, message ?? { ReceiptHandle: '' });
    expect(await refusal(take(sqs, url, attempt))).toEqual(notRetryable);
    expect(await sqs.counts(url)).toMatchObject({ inFlight: 1 });
  });

  it.each([0, 60])('cannot be repeated when a timeout was changed to %i', async (seconds) => {
    const url = await queueOfTwoGroups();
    const [message] = await take(sqs, url, attempt);
    await sqs.change(url, message ?? { ReceiptHandle: '' }, seconds);
    expect(await refusal(take(sqs, url, attempt))).toEqual(notRetryable);
  });

  it('cannot be repeated when a message was received again', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g-1']);
    await take(sqs, url, { ...attempt, VisibilityTimeout: 0 });
    await take(sqs, url);
    expect(await refusal(take(sqs, url, attempt))).toEqual(notRetryable);
  });

  it('takes ids of 1 to 128 printable characters', async () => {
    const url = await createFifoQueue(sqs);
    for (const ReceiveRequestAttemptId of ['with space', 'x'.repeat(129)]) {
      expect(await refusal(take(sqs, url, { ReceiveRequestAttemptId }))).toEqual({
        code: 'InvalidParameterValue',
        status: 400,
        message: `Value ${ReceiveRequestAttemptId} for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
      });
    }
    expect(await take(sqs, url, { ReceiveRequestAttemptId: 'x'.repeat(128) })).toEqual([]);
  });
});

describe('The in-flight quota of FIFO queues', () => {
  const database = useDatabase();
  const server = useServer(database, { inFlightLimits: { standard: 120_000, fifo: 3 } });

  it('makes a receive answer less, and in the end nothing, without an error', async () => {
    const client = jsonClient(server.url);
    const { QueueUrl } = await client.createQueue({
      QueueName: 'quota.fifo',
      Attributes: { FifoQueue: 'true', ContentBasedDeduplication: 'true' },
    });
    for (const group of ['a', 'b', 'c', 'd', 'e']) {
      await client.sendMessage({ QueueUrl, MessageBody: group, MessageGroupId: group });
    }
    const receive = async () => {
      const { Messages = [] } = await client.receiveMessage({ QueueUrl, MaxNumberOfMessages: 2 });
      return Messages;
    };
    const [first] = await receive();
    expect(await receive()).toHaveLength(1);
    expect(await receive()).toEqual([]);
    await client.deleteMessage({ QueueUrl, ReceiptHandle: first?.ReceiptHandle });
    expect((await receive()).map(({ Body }) => Body)).toEqual(['d']);
    client.destroy();
  });
});
