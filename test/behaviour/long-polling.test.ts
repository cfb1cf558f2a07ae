import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { describeOverBothProtocols, present, refusal, timed } from './both-protocols.ts';

/** Time for a poll that was just sent to have asked the database and begun to wait. */
const settlesInMs = 200;

/** Well before the polls here give up, and enough for a busy machine. */
const inTimeMs = 5_000;

describeOverBothProtocols('Long polling', (sqs) => {
  const wait = { WaitTimeSeconds: 10 };

  /** A poll that waits, and how long it takes to be answered after something is done. */
  async function answeredAfter(
    url: string,
    work: () => Promise<unknown>,
  ): Promise<{ bodies: (string | undefined)[]; tookMs: number }> {
    const poll = sqs.receive(url, wait);
    await sleep(settlesInMs);
    await work();
    const { answer, tookMs } = await timed(() => poll);
    return { bodies: answer.map(({ Body }) => Body), tookMs };
  }

  it('waits as long as it is told, and answers empty then', async () => {
    const url = await sqs.createQueue();
    const { answer, tookMs } = await timed(() => sqs.receive(url, { WaitTimeSeconds: 1 }));
    expect(answer).toEqual([]);
    expect(tookMs).toBeGreaterThanOrEqual(990);
    expect(tookMs).toBeLessThan(inTimeMs);
  });

  it('does not wait when there are messages, also fewer than asked for', async () => {
    const url = await sqs.createQueue();
    await sqs.send(url, 'x');
    const { answer, tookMs } = await timed(() =>
      sqs.receive(url, { ...wait, MaxNumberOfMessages: 10 }),
    );
    expect(answer).toHaveLength(1);
    expect(tookMs).toBeLessThan(inTimeMs);
  });

  it("waits by the queue's time unless the receive has its own", async () => {
    const url = await sqs.createQueue({ ReceiveMessageWaitTimeSeconds: '1' });
    const byQueue = await timed(() => sqs.receive(url));
    expect(byQueue.answer).toEqual([]);
    expect(byQueue.tookMs).toBeGreaterThanOrEqual(990);
    const byReceive = await timed(() => sqs.receive(url, { WaitTimeSeconds: 0 }));
    expect(byReceive.answer).toEqual([]);
    expect(byReceive.tookMs).toBeLessThan(900);
  });

  it('answers when a message is sent', async () => {
    const url = await sqs.createQueue();
    const { bodies, tookMs } = await answeredAfter(url, () => sqs.send(url, 'x'));
    expect(bodies).toEqual(['x']);
    expect(tookMs).toBeLessThan(inTimeMs);
  });

  it('answers when a batch is sent', async () => {
    const url = await sqs.createQueue();
    const { bodies, tookMs } = await answeredAfter(url, () =>
      sqs.client.sendMessageBatch({
        QueueUrl: url,
        Entries: [{ Id: 'a', MessageBody: 'x' }],
      }),
    );
    expect(bodies).toEqual(['x']);
    expect(tookMs).toBeLessThan(inTimeMs);
  });

  it('answers when a message is given back', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '600' });
    await sqs.send(url, 'x');
    const message = await sqs.receiveOne(url);
    const { bodies, tookMs } = await answeredAfter(url, () => sqs.change(url, message, 0));
    expect(bodies).toEqual(['x']);
    expect(tookMs).toBeLessThan(inTimeMs);
  });

  it('answers when a message is given back in a batch', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '600' });
    await sqs.send(url, 'x');
    const { ReceiptHandle } = await sqs.receiveOne(url);
    const { bodies, tookMs } = await answeredAfter(url, () =>
      sqs.client.changeMessageVisibilityBatch({
        QueueUrl: url,
        Entries: [{ Id: 'a', ReceiptHandle, VisibilityTimeout: 0 }],
      }),
    );
    expect(bodies).toEqual(['x']);
    expect(tookMs).toBeLessThan(inTimeMs);
  });

  it('answers when a delayed message is due', async () => {
    const url = await sqs.createQueue();
    const { bodies, tookMs } = await answeredAfter(url, () =>
      sqs.send(url, 'x', { DelaySeconds: 1 }),
    );
    expect(bodies).toEqual(['x']);
    expect(tookMs).toBeGreaterThan(500);
    expect(tookMs).toBeLessThan(inTimeMs);
  });

  it('answers with an error when the queue is deleted', async () => {
    const url = await sqs.createQueue();
    const poll = refusal(sqs.receive(url, wait));
    await sleep(settlesInMs);
    await sqs.client.deleteQueue({ QueueUrl: url });
    const { answer, tookMs } = await timed(() => poll);
    expect(answer).toMatchObject({ code: 'AWS.SimpleQueueService.NonExistentQueue' });
    expect(tookMs).toBeLessThan(inTimeMs);
  });

  it('gives one message to one of several waiting polls', async () => {
    const url = await sqs.createQueue();
    const polls = [1, 2, 3].map(() => sqs.receive(url, { WaitTimeSeconds: 2 }));
    await sleep(settlesInMs);
    await sqs.send(url, 'x');
    const answers = await Promise.all(polls);
    expect(answers.map((messages) => messages.length).toSorted()).toEqual([0, 0, 1]);
  });

  it('serves every waiting poll when there is a message for each', async () => {
    const url = await sqs.createQueue();
    const polls = Array.from({ length: 8 }, () => sqs.receive(url, wait));
    await sleep(settlesInMs);
    const { answer: answers, tookMs } = await timed(async () => {
      await sqs.client.sendMessageBatch({
        QueueUrl: url,
        Entries: polls.map((_, index) => ({ Id: `${index}`, MessageBody: 'x' })),
      });
      return await Promise.all(polls);
    });
    const ids = answers.map(([message]) => present(message?.MessageId));
    expect(new Set(ids).size).toBe(8);
    expect(tookMs).toBeLessThan(inTimeMs);
  });

  it('is not answered by messages of another queue', async () => {
    const url = await sqs.createQueue();
    const otherUrl = await sqs.createQueue();
    const poll = timed(() => sqs.receive(url, { WaitTimeSeconds: 1 }));
    await sqs.send(otherUrl, 'x');
    const { answer, tookMs } = await poll;
    expect(answer).toEqual([]);
    expect(tookMs).toBeGreaterThanOrEqual(990);
  });
});
