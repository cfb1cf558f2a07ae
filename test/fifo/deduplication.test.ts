import { expect, it } from 'vitest';
import { describeOverBothProtocols } from '../behaviour/both-protocols.ts';
import { bodies, createFifoQueue, passFiveMinutes, post, postBatch, take } from './fifo-subject.ts';

describeOverBothProtocols('Deduplication', (sqs) => {
  it('accepts a repeat, answers the original ids, and adds no message', async () => {
    const url = await createFifoQueue(sqs);
    const first = await post(sqs, url, 'g', 'original', 'x');
    await post(sqs, url, 'g', 'next', 'y');
    for (let repeat = 0; repeat < 3; repeat += 1) {
      const repeated = await post(sqs, url, 'g', 'another body', 'x');
      expect(repeated.MessageId).toBe(first.MessageId);
      expect(repeated.SequenceNumber).toBe(first.SequenceNumber);
      expect(repeated.MD5OfMessageBody).not.toBe(first.MD5OfMessageBody);
    }
    expect(bodies(await take(sqs, url))).toEqual(['original', 'next']);
  });

  it('goes on while the message is in flight and after it was deleted', async () => {
    const url = await createFifoQueue(sqs);
    const first = await post(sqs, url, 'g', 'x');
    const message = await sqs.receiveOne(url);
    expect((await post(sqs, url, 'g', 'x')).MessageId).toBe(first.MessageId);
    await sqs.delete(url, message);
    const repeated = await post(sqs, url, 'g', 'x');
    expect(repeated).toMatchObject({
      MessageId: first.MessageId,
      SequenceNumber: first.SequenceNumber,
    });
    expect(await take(sqs, url)).toEqual([]);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });

  it('ends five minutes after the first send, however often it was repeated', async () => {
    const url = await createFifoQueue(sqs);
    const first = await post(sqs, url, 'g', 'first', 'x');
    await post(sqs, url, 'g', 'repeat', 'x');
    await passFiveMinutes(sqs, url);
    const second = await post(sqs, url, 'g', 'second', 'x');
    expect(second.MessageId).not.toBe(first.MessageId);
    expect(BigInt(second.SequenceNumber ?? 0)).toBeGreaterThan(BigInt(first.SequenceNumber ?? 0));
    expect((await post(sqs, url, 'g', 'repeat', 'x')).MessageId).toBe(second.MessageId);
    expect(bodies(await take(sqs, url))).toEqual(['first', 'second']);
  });

  it('works within a batch and across batches', async () => {
    const url = await createFifoQueue(sqs);
    const names = ['a-1', 'b-1', 'a-1', 'a-2'];
    const { Successful: first = [] } = await postBatch(sqs, url, names);
    expect(first).toHaveLength(4);
    expect(first[2]?.MessageId).toBe(first[0]?.MessageId);
    expect(first[2]?.SequenceNumber).toBe(first[0]?.SequenceNumber);
    const { Successful: second = [] } = await postBatch(sqs, url, [...names, 'a-3']);
    expect(second.slice(0, 4).map(({ MessageId }) => MessageId)).toEqual(
      first.map(({ MessageId }) => MessageId),
    );
    expect(bodies(await take(sqs, url))).toEqual(['a-1', 'a-2', 'a-3', 'b-1']);
  });

  it('counts for the whole queue by default', async () => {
    const url = await createFifoQueue(sqs);
    const first = await post(sqs, url, 'g', 'original', 'x');
    expect((await post(sqs, url, 'h', 'other', 'x')).MessageId).toBe(first.MessageId);
    expect(bodies(await take(sqs, url))).toEqual(['original']);
  });

  it('counts for each message group where the queue says so', async () => {
    const url = await createFifoQueue(sqs, { DeduplicationScope: 'messageGroup' });
    const first = await post(sqs, url, 'g', 'in g', 'x');
    const second = await post(sqs, url, 'h', 'in h', 'x');
    expect(second.MessageId).not.toBe(first.MessageId);
    expect((await post(sqs, url, 'h', 'again', 'x')).MessageId).toBe(second.MessageId);
    expect(bodies(await take(sqs, url))).toEqual(['in g', 'in h']);
  });

  it('knows what was sent before the scope changed', async () => {
    const url = await createFifoQueue(sqs);
    const first = await post(sqs, url, 'g', 'original', 'x');
    const setScope = (DeduplicationScope: string) =>
      sqs.client.setQueueAttributes({ QueueUrl: url, Attributes: { DeduplicationScope } });
    await setScope('messageGroup');
    // Another server may go by what it knows of a queue for a second, the database does not.
    expect((await post(sqs, url, 'h', 'other', 'x')).MessageId).toBe(first.MessageId);
    const inGroup = await post(sqs, url, 'g', 'in g', 'y');
    await setScope('queue');
    expect((await post(sqs, url, 'g', 'in g again', 'y')).MessageId).toBe(inGroup.MessageId);
    expect((await post(sqs, url, 'h', 'in h', 'y')).MessageId).not.toBe(inGroup.MessageId);
    expect(bodies(await take(sqs, url))).toEqual(['original', 'in g', 'in h']);
  });

  it('answers the ids of the first send to the group where an id was sent in both scopes', async () => {
    const url = await createFifoQueue(sqs, { DeduplicationScope: 'messageGroup' });
    const setScope = (DeduplicationScope: string) =>
      sqs.client.setQueueAttributes({ QueueUrl: url, Attributes: { DeduplicationScope } });
    const first = await post(sqs, url, 'b', 'first', 'x');
    await setScope('queue');
    const second = await post(sqs, url, 'a', 'second', 'x');
    expect(second.MessageId).not.toBe(first.MessageId);
    await setScope('messageGroup');
    expect((await post(sqs, url, 'b', 'again', 'x')).MessageId).toBe(first.MessageId);
    await setScope('queue');
    expect((await post(sqs, url, 'b', 'again', 'x')).MessageId).toBe(first.MessageId);
    expect((await post(sqs, url, 'a', 'again', 'x')).MessageId).toBe(second.MessageId);
  });

  it('keeps the first of those in a batch, in whatever groups they are', async () => {
    for (let round = 0; round < 10; round += 1) {
      const url = await createFifoQueue(sqs);
      const groups = ['a', 'b', 'c', 'd', 'b', 'a'];
      const { Successful: sent = [] } = await sqs.client.sendMessageBatch({
        QueueUrl: url,
        Entries: groups.map((MessageGroupId, index) => ({
          Id: `${index}`,
          MessageBody: `${MessageGroupId}-${index}`,
          MessageGroupId,
          MessageDeduplicationId: `${Math.floor(index / 2)}`,
        })),
      });
      const ids = sent.map(({ MessageId }) => MessageId);
      expect(ids).toEqual([ids[0], ids[0], ids[2], ids[2], ids[4], ids[4]]);
      expect(bodies(await take(sqs, url)).sort()).toEqual(['a-0', 'b-4', 'c-2']);
    }
  });

  it('does not reach over to another queue', async () => {
    const [one, other] = [await createFifoQueue(sqs), await createFifoQueue(sqs)];
    await post(sqs, one, 'g', 'x');
    await post(sqs, other, 'g', 'x');
    expect(await take(sqs, other)).toHaveLength(1);
  });

  it('goes by the SHA-256 of the body where the queue says so, whatever the attributes', async () => {
    const url = await createFifoQueue(sqs, { ContentBasedDeduplication: 'true' });
    const attribute = (StringValue: string) => ({
      MessageGroupId: 'g',
      MessageAttributes: { color: { DataType: 'String', StringValue } },
    });
    const first = await sqs.send(url, 'same', attribute('red'));
    expect(await sqs.send(url, 'same', attribute('blue'))).toBe(first);
    expect(await sqs.send(url, 'other', attribute('red'))).not.toBe(first);
    const received = await take(sqs, url, { AttributeNames: ['All'] });
    expect(received.map(({ Attributes }) => Attributes?.MessageDeduplicationId)).toEqual([
      '0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5',
      'd9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa',
    ]);
  });

  it('goes by a given id even where the queue makes ids', async () => {
    const url = await createFifoQueue(sqs, { ContentBasedDeduplication: 'true' });
    const first = await post(sqs, url, 'g', 'same', 'x');
    const second = await post(sqs, url, 'g', 'same', 'y');
    expect(second.MessageId).not.toBe(first.MessageId);
    // An id that is the hash of a body is the same as the body itself.
    const hash = '0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5';
    const third = await post(sqs, url, 'g', 'same', '');
    expect(third.MessageId).not.toBe(second.MessageId);
    expect((await post(sqs, url, 'g', 'different', hash)).MessageId).toBe(third.MessageId);
  });

  it('can be switched to explicit ids again', async () => {
    const QueueUrl = await createFifoQueue(sqs, { ContentBasedDeduplication: 'true' });
    await post(sqs, QueueUrl, 'g', 'x', '');
    await sqs.client.setQueueAttributes({
      QueueUrl,
      Attributes: { ContentBasedDeduplication: 'false' },
    });
    await expect(post(sqs, QueueUrl, 'g', 'y', '')).rejects.toThrow(/MessageDeduplicationId/);
    await post(sqs, QueueUrl, 'g', 'y');
    expect(bodies(await take(sqs, QueueUrl))).toEqual(['x', 'y']);
  });

  it('is forgotten by a purge', async () => {
    const QueueUrl = await createFifoQueue(sqs);
    const first = await post(sqs, QueueUrl, 'g', 'x');
    await sqs.client.purgeQueue({ QueueUrl });
    expect((await post(sqs, QueueUrl, 'g', 'x')).MessageId).not.toBe(first.MessageId);
    expect(bodies(await take(sqs, QueueUrl))).toEqual(['x']);
  });

  it('makes one message of many sends at the same time', async () => {
    const url = await createFifoQueue(sqs);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => post(sqs, url, `g${index % 3}`, 'body', 'x')),
    );
    expect(new Set(answers.map(({ MessageId }) => MessageId)).size).toBe(1);
    expect(new Set(answers.map(({ SequenceNumber }) => SequenceNumber)).size).toBe(1);
    expect(await sqs.counts(url)).toEqual({ visible: 1, inFlight: 0, delayed: 0 });
  });
});
