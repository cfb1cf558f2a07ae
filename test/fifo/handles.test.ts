import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import {
  describeOverBothProtocols,
  queueName,
  refusal,
  type Subject,
} from '../behaviour/both-protocols.ts';
import { bodies, createFifoQueue, postAll, type Received, take } from './fifo-subject.ts';

const handleExpired = (handle: string) => ({
  code: 'InvalidParameterValue',
  status: 400,
  message: `Value ${handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`,
});
const notAvailable = (handle: string) => ({
  code: 'InvalidParameterValue',
  status: 400,
  message: `Value ${handle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`,
});
const notAHandle = (handle: string) => ({
  code: 'ReceiptHandleIsInvalid',
  status: 404,
  message: `The input receipt handle "${handle}" is not a valid receipt handle.`,
});

/** Makes the visibility timeouts of a queue's messages end now. */
async function endTimeouts(sqs: Subject, queueUrl: string): Promise<void> {
  for (const table of ['messages', 'message_groups']) {
    await sqs.database.pool.query(
      `update trunkline.${table} as hidden
      set visible_at = clock_timestamp()
      from trunkline.queues as queue
      where queue.id = hidden.queue_id and queue.name = $1 and hidden.visible_at > clock_timestamp()`,
      [queueName(queueUrl)],
    );
  }
}

/** A queue with these messages of one group, and what a receive of them gave. */
async function receivedQueue(sqs: Subject, names: readonly string[], limit = names.length) {
  const url = await createFifoQueue(sqs);
  await postAll(sqs, url, names);
  const received = await take(sqs, url, { MaxNumberOfMessages: limit });
  expect(received).toHaveLength(limit);
  const [first] = received;
  if (first === undefined) {
    throw new Error('Nothing was received.');
  }
  return { url, received, first };
}

describeOverBothProtocols('Deleting from a FIFO queue', (sqs) => {
  it('works within the visibility timeout, and a second time without effect', async () => {
    const { url, first } = await receivedQueue(sqs, ['g-1']);
    await sqs.delete(url, first);
    await sqs.delete(url, first);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });

  it('fails after the timeout, and the message comes back', async () => {
    const url = await createFifoQueue(sqs, { VisibilityTimeout: '1' });
    await postAll(sqs, url, ['g-1']);
    const message = await sqs.receiveOne(url);
    await sleep(1_010);
    expect(await refusal(sqs.delete(url, message))).toEqual(handleExpired(message.ReceiptHandle));
    expect(bodies(await take(sqs, url))).toEqual(['g-1']);
  });

  it('fails with the handle of an earlier receive', async () => {
    const { url, first } = await receivedQueue(sqs, ['g-1']);
    await endTimeouts(sqs, url);
    const [again] = await take(sqs, url);
    expect(await refusal(sqs.delete(url, first))).toEqual(handleExpired(first.ReceiptHandle));
    expect(await sqs.counts(url)).toMatchObject({ inFlight: 1 });
    await sqs.delete(url, again ?? first);
    expect(await sqs.counts(url)).toMatchObject({ inFlight: 0 });
  });

  it('fails after a receive with a timeout of 0, and after a release', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g-1']);
    const message = await sqs.receiveOne(url, { VisibilityTimeout: 0 });
    expect(await refusal(sqs.delete(url, message))).toEqual(handleExpired(message.ReceiptHandle));
    const again = await sqs.receiveOne(url);
    await sqs.change(url, again, 0);
    expect(await refusal(sqs.delete(url, again))).toEqual(handleExpired(again.ReceiptHandle));
  });

  it('works within an extended timeout', async () => {
    const { url, first } = await receivedQueue(sqs, ['g-1']);
    await sqs.change(url, first, 1);
    await sqs.change(url, first, 60);
    await sleep(1_010);
    await sqs.delete(url, first);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });

  it('fails with what is no handle, or one of another queue', async () => {
    const { url } = await receivedQueue(sqs, ['g-1']);
    const { first: foreign } = await receivedQueue(sqs, ['g-2']);
    for (const ReceiptHandle of ['garbage', foreign.ReceiptHandle]) {
      expect(await refusal(sqs.delete(url, { ReceiptHandle }))).toEqual(notAHandle(ReceiptHandle));
    }
  });

  it('works in batches, where each entry fails alone', async () => {
    const { url: QueueUrl, received } = await receivedQueue(sqs, ['g-1', 'g-2', 'g-3']);
    const [one, two, three] = received.map(({ ReceiptHandle }) => ReceiptHandle);
    await sqs.change(QueueUrl, { ReceiptHandle: two ?? '' }, 0);
    const { Successful, Failed } = await sqs.client.deleteMessageBatch({
      QueueUrl,
      Entries: [
        { Id: 'live', ReceiptHandle: one },
        { Id: 'released', ReceiptHandle: two },
        { Id: 'garbage', ReceiptHandle: 'garbage' },
        { Id: 'last', ReceiptHandle: three },
      ],
    });
    expect(Successful?.map(({ Id }) => Id)).toEqual(['live', 'last']);
    const failure = (Id: string, { code, message }: { code: string; message: string }) => ({
      Id,
      Code: code,
      Message: message,
      SenderFault: true,
    });
    expect(Failed).toEqual([
      failure('released', handleExpired(two ?? '')),
      failure('garbage', notAHandle('garbage')),
    ]);
    expect(bodies(await take(sqs, QueueUrl))).toEqual(['g-2']);
  });
});

describeOverBothProtocols('Changing visibility in a FIFO queue', (sqs) => {
  const change = (url: string, message: Received | undefined, seconds: number) =>
    sqs.change(url, { ReceiptHandle: message?.ReceiptHandle ?? '' }, seconds);

  it('to 0 gives messages back first and in order, before later ones', async () => {
    const { url: QueueUrl, received } = await receivedQueue(sqs, ['g-1', 'g-2']);
    await postAll(sqs, QueueUrl, ['g-3']);
    const { Successful } = await sqs.client.changeMessageVisibilityBatch({
      QueueUrl,
      Entries: received.map(({ ReceiptHandle }, index) => ({
        Id: `${index}`,
        ReceiptHandle,
        VisibilityTimeout: 0,
      })),
    });
    expect(Successful).toHaveLength(2);
    expect(bodies(await take(sqs, QueueUrl))).toEqual(['g-1', 'g-2', 'g-3']);
  });

  it('of the head to 0 gives the head alone while the next is in flight', async () => {
    const { url, received } = await receivedQueue(sqs, ['g-1', 'g-2', 'g-3'], 2);
    await change(url, received[0], 0);
    expect(bodies(await take(sqs, url))).toEqual(['g-1']);
    expect(await take(sqs, url)).toEqual([]);
  });

  it('of a later message to 0 gives nothing while the head is in flight', async () => {
    const { url, received } = await receivedQueue(sqs, ['g-1', 'g-2', 'g-3'], 2);
    await change(url, received[1], 0);
    expect(await take(sqs, url)).toEqual([]);
  });

  it('to 0 puts the group behind those that wait already', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g1-m1', 'g1-m2', 'g2-m1']);
    const [message] = await take(sqs, url, { MaxNumberOfMessages: 2 });
    await change(url, message, 0);
    expect(bodies(await take(sqs, url, { MaxNumberOfMessages: 3 }))).toEqual(['g2-m1', 'g1-m1']);
  });

  it('to a short time puts the group behind those that wait already, when it is over', async () => {
    const url = await createFifoQueue(sqs);
    await postAll(sqs, url, ['g1-m1', 'g1-m2', 'g2-m1']);
    const [message] = await take(sqs, url, { MaxNumberOfMessages: 2 });
    await change(url, message, 1);
    await sleep(1_050);
    expect(bodies(await take(sqs, url, { MaxNumberOfMessages: 3 }))).toEqual(['g2-m1', 'g1-m1']);
  });

  it.each([
    { extended: 0, expected: [] },
    { extended: 1, expected: ['g-0'] },
    { extended: 2, expected: ['g-0', 'g-1'] },
  ])(
    'of message $extended of three holds back itself and what follows',
    async ({ extended, expected }) => {
      const { url, received } = await receivedQueue(sqs, ['g-0', 'g-1', 'g-2']);
      for (const [index, message] of received.entries()) {
        await change(url, message, index === extended ? 60 : 0);
      }
      await postAll(sqs, url, ['g-3']);
      expect(bodies(await take(sqs, url, { MaxNumberOfMessages: 5 }))).toEqual(expected);
    },
  );

  it('counts from now, and up to 12 hours from the receive', async () => {
    const { url, first } = await receivedQueue(sqs, ['g-1']);
    await sqs.change(url, first, 600);
    expect(await sqs.hiddenForSeconds(url)).toBeGreaterThan(595);
    await sqs.age(url, '1 hour');
    expect(await refusal(sqs.change(url, first, 43_200))).toEqual({
      code: 'InvalidParameterValue',
      status: 400,
      message:
        'Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]',
    });
    await sqs.change(url, first, 39_000);
  });

  it('fails after the timeout, after a release, and after deletion', async () => {
    const { url, received } = await receivedQueue(sqs, ['g-1', 'h-1', 'i-1']);
    const [one, two, three] = received.map(({ ReceiptHandle }) => ({ ReceiptHandle }));
    if (one === undefined || two === undefined || three === undefined) {
      throw new Error('Too few were received.');
    }
    await sqs.change(url, one, 0);
    await sqs.delete(url, two);
    await endTimeouts(sqs, url);
    for (const message of [one, two, three]) {
      for (const seconds of [0, 30]) {
        expect(await refusal(sqs.change(url, message, seconds))).toEqual(
          notAvailable(message.ReceiptHandle),
        );
      }
    }
    expect(bodies(await take(sqs, url)).sort()).toEqual(['g-1', 'i-1']);
  });

  it('fails with the handle of an earlier receive, and leaves the later one alone', async () => {
    const { url, first } = await receivedQueue(sqs, ['g-1']);
    await endTimeouts(sqs, url);
    await take(sqs, url);
    expect(await refusal(sqs.change(url, first, 0))).toEqual(notAvailable(first.ReceiptHandle));
    expect(await take(sqs, url)).toEqual([]);
  });

  it('works in batches, where each entry fails alone', async () => {
    const { url: QueueUrl, received } = await receivedQueue(sqs, ['g-1', 'h-1']);
    const [one, two] = received.map(({ ReceiptHandle }) => ReceiptHandle);
    await sqs.delete(QueueUrl, { ReceiptHandle: two ?? '' });
    const entry = (Id: string, ReceiptHandle: string | undefined, VisibilityTimeout: number) => ({
      Id,
      ReceiptHandle,
      VisibilityTimeout,
    });
    const { Successful, Failed } = await sqs.client.changeMessageVisibilityBatch({
      QueueUrl,
      Entries: [
        entry('live', one, 60),
        entry('deleted', two, 60),
        entry('garbage', 'garbage', 60),
        entry('range', one, 43_201),
      ],
    });
    expect(Successful).toEqual([{ Id: 'live' }]);
    const failures = Object.fromEntries(Failed?.map(({ Id, ...failure }) => [Id, failure]) ?? []);
    expect(failures).toEqual({
      deleted: {
        Code: 'InvalidParameterValue',
        Message: notAvailable(two ?? '').message,
        SenderFault: true,
      },
      garbage: {
        Code: 'ReceiptHandleIsInvalid',
        Message: notAHandle('garbage').message,
        SenderFault: true,
      },
      range: {
        Code: 'InvalidParameterValue',
        Message:
          'Value 43201 for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be an integer between 0 and 43200.',
        SenderFault: true,
      },
    });
  });
});
