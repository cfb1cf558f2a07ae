import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { describeOverBothProtocols, refusal } from './both-protocols.ts';

describeOverBothProtocols('Deleting', (sqs) => {
  const none = { visible: 0, inFlight: 0, delayed: 0 };

  it('removes a message for good', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '1' });
    await sqs.send(url, 'x');
    await sqs.delete(url, await sqs.receiveOne(url));
    expect(await sqs.counts(url)).toEqual(none);
    await sleep(1_050);
    expect(await sqs.receive(url)).toEqual([]);
  });

  it('succeeds again and again', async () => {
    const url = await sqs.createQueue();
    await sqs.send(url, 'x');
    await sqs.send(url, 'other');
    const message = await sqs.receiveOne(url);
    for (let time = 1; time <= 3; time += 1) {
      await sqs.delete(url, message);
    }
    expect(await sqs.counts(url)).toEqual({ visible: 1, inFlight: 0, delayed: 0 });
  });

  it('removes a message whose timeout is over', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '1' });
    await sqs.send(url, 'x');
    const message = await sqs.receiveOne(url);
    await sleep(1_050);
    expect(await sqs.counts(url)).toEqual({ visible: 1, inFlight: 0, delayed: 0 });
    await sqs.delete(url, message);
    expect(await sqs.counts(url)).toEqual(none);
    expect(await sqs.receive(url)).toEqual([]);
  });

  it('leaves a message to its newer receiver, and still succeeds', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '600' });
    await sqs.send(url, 'x');
    const older = await sqs.receiveOne(url, { VisibilityTimeout: 0 });
    const newer = await sqs.receiveOne(url);
    await sqs.delete(url, older);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 1, delayed: 0 });

    const { Successful, Failed } = await sqs.client.deleteMessageBatch({
      QueueUrl: url,
      Entries: [{ Id: 'older', ReceiptHandle: older.ReceiptHandle }],
    });
    expect([Successful, Failed]).toEqual([[{ Id: 'older' }], undefined]);
    // Nor does it matter that the newer receiver gave the message back.
    await sqs.change(url, newer, 0);
    await sqs.delete(url, older);
    expect(await sqs.counts(url)).toEqual({ visible: 1, inFlight: 0, delayed: 0 });

    await sqs.delete(url, newer);
    expect(await sqs.counts(url)).toEqual(none);
  });

  it('succeeds for a message that is past its retention', async () => {
    const url = await sqs.createQueue({ VisibilityTimeout: '600', MessageRetentionPeriod: '60' });
    await sqs.send(url, 'x');
    const message = await sqs.receiveOne(url);
    await sqs.age(url, '60 seconds');
    expect(await refusal(sqs.change(url, message, 0))).toMatchObject({
      code: 'InvalidParameterValue',
    });
    await sqs.delete(url, message);
    expect(await sqs.receive(url)).toEqual([]);
  });

  it('refuses what is no receipt handle of the queue', async () => {
    const url = await sqs.createQueue();
    const otherUrl = await sqs.createQueue();
    await sqs.send(url, 'x');
    const { ReceiptHandle: foreign } = await sqs.receiveOne(url);
    for (const ReceiptHandle of ['garbage', foreign, 'é', "'", `${foreign}=`]) {
      expect(await refusal(sqs.delete(otherUrl, { ReceiptHandle }))).toEqual({
        code: 'ReceiptHandleIsInvalid',
        status: 404,
        message: `The input receipt handle "${ReceiptHandle}" is not a valid receipt handle.`,
      });
    }
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 1, delayed: 0 });
  });

  it('refuses an empty and a missing receipt handle', async () => {
    const QueueUrl = await sqs.createQueue();
    for (const ReceiptHandle of ['', undefined]) {
      expect(await refusal(sqs.client.deleteMessage({ QueueUrl, ReceiptHandle }))).toEqual({
        code: 'MissingParameter',
        status: 400,
        message: 'The request must contain the parameter ReceiptHandle.',
      });
    }
  });
});
