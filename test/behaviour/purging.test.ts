import { expect, it } from 'vitest';
import { describeOverBothProtocols, queueName, refusal } from './both-protocols.ts';

describeOverBothProtocols('Purging', (sqs) => {
  const none = { visible: 0, inFlight: 0, delayed: 0 };

  it('removes visible, in-flight and delayed messages at once', async () => {
    const QueueUrl = await sqs.createQueue({ VisibilityTimeout: '600' });
    await sqs.send(QueueUrl, 'in flight');
    await sqs.receiveOne(QueueUrl);
    await sqs.send(QueueUrl, 'visible');
    await sqs.send(QueueUrl, 'delayed', { DelaySeconds: 600 });
    expect(await sqs.counts(QueueUrl)).toEqual({ visible: 1, inFlight: 1, delayed: 1 });
    await sqs.client.purgeQueue({ QueueUrl });
    expect(await sqs.counts(QueueUrl)).toEqual(none);
    expect(await sqs.receive(QueueUrl)).toEqual([]);
  });

  it('leaves the queue with its attributes, ready for new messages', async () => {
    const QueueUrl = await sqs.createQueue({ VisibilityTimeout: '600' });
    await sqs.send(QueueUrl, 'old');
    const before = await sqs.attributes(QueueUrl);
    await sqs.client.purgeQueue({ QueueUrl });
    expect(await sqs.attributes(QueueUrl)).toEqual({
      ...before,
      ApproximateNumberOfMessages: '0',
    });
    await sqs.send(QueueUrl, 'new');
    expect((await sqs.receiveOne(QueueUrl, { MaxNumberOfMessages: 10 })).Body).toBe('new');
  });

  it('leaves other queues alone', async () => {
    const QueueUrl = await sqs.createQueue();
    const otherUrl = await sqs.createQueue();
    await sqs.send(otherUrl, 'other');
    await sqs.client.purgeQueue({ QueueUrl });
    expect(await sqs.counts(otherUrl)).toMatchObject({ visible: 1 });
  });

  it('is refused for 60 seconds after the last time', async () => {
    const QueueUrl = await sqs.createQueue();
    await sqs.client.purgeQueue({ QueueUrl });
    await sqs.send(QueueUrl, 'kept');
    expect(await refusal(sqs.client.purgeQueue({ QueueUrl }))).toEqual({
      code: 'AWS.SimpleQueueService.PurgeQueueInProgress',
      status: 403,
      message: `Only one PurgeQueue operation on ${queueName(QueueUrl)} is allowed every 60 seconds.`,
    });
    expect(await sqs.counts(QueueUrl)).toEqual({ visible: 1, inFlight: 0, delayed: 0 });

    await sqs.database.pool.query(
      `update trunkline.queues set purged_at = purged_at - interval '60 seconds' where name = $1`,
      [queueName(QueueUrl)],
    );
    await sqs.client.purgeQueue({ QueueUrl });
    expect(await sqs.counts(QueueUrl)).toEqual(none);
  });

  it('makes of the receipt handles from before those of deleted messages', async () => {
    const QueueUrl = await sqs.createQueue();
    await sqs.send(QueueUrl, 'x');
    const message = await sqs.receiveOne(QueueUrl);
    await sqs.client.purgeQueue({ QueueUrl });
    await sqs.delete(QueueUrl, message);
    expect(await refusal(sqs.change(QueueUrl, message, 0))).toMatchObject({
      code: 'InvalidParameterValue',
      message: expect.stringContaining('Message does not exist'),
    });
  });

  it('does not end the waiting of a long poll', async () => {
    const QueueUrl = await sqs.createQueue();
    const poll = sqs.receive(QueueUrl, { WaitTimeSeconds: 10 });
    await sqs.client.purgeQueue({ QueueUrl });
    await sqs.send(QueueUrl, 'new');
    expect(await poll).toMatchObject([{ Body: 'new' }]);
  });
});
