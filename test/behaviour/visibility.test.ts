import { setTimeout as sleep } from 'node:timers/promises';
import type { Message, ReceiveMessageCommandInput } from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { describeOverBothProtocols, refusal, timed } from './both-protocols.ts';

type Received = Message & { ReceiptHandle: string; MessageId: string };

describeOverBothProtocols('Visibility', (sqs) => {
  /** A queue with one message in flight, and that message. */
  async function oneInFlight(
    visibilityTimeoutSeconds: number,
    options: Partial<ReceiveMessageCommandInput> = {},
  ): Promise<{ url: string; message: Received }> {
    const url = await sqs.createQueue({ VisibilityTimeout: String(visibilityTimeoutSeconds) });
    await sqs.send(url, 'x');
    return { url, message: await sqs.receiveOne(url, options) };
  }

  /** Expects the queue's only message to be hidden for that long from now, give or take a test's delays. */
  async function expectHiddenFor(url: string, seconds: number): Promise<void> {
    const hiddenForSeconds = await sqs.hiddenForSeconds(url);
    expect(hiddenForSeconds).toBeLessThanOrEqual(seconds);
    expect(hiddenForSeconds).toBeGreaterThan(seconds - 10);
    expect(await sqs.receive(url)).toEqual([]);
  }

  it('leaves a received message in the queue, hidden', async () => {
    const { url } = await oneInFlight(600);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 1, delayed: 0 });
    expect(await sqs.receive(url)).toEqual([]);
  });

  it('gives a message again when its timeout is over, not earlier', async () => {
    const { url, message } = await oneInFlight(2, { AttributeNames: ['All'] });
    const { answer: again, tookMs } = await timed(() =>
      sqs.receiveOne(url, { WaitTimeSeconds: 10, AttributeNames: ['All'] }),
    );
    expect(tookMs).toBeGreaterThan(1_000);
    expect(tookMs).toBeLessThan(5_000);
    expect(again.MessageId).toBe(message.MessageId);
    expect(again.Body).toBe(message.Body);
    expect(again.ReceiptHandle).not.toBe(message.ReceiptHandle);
    expect(message.Attributes?.ApproximateReceiveCount).toBe('1');
    expect(again.Attributes?.ApproximateReceiveCount).toBe('2');
  });

  it("hides by the queue's timeout of 30 seconds by default", async () => {
    const url = await sqs.createQueue();
    await sqs.send(url, 'x');
    await sqs.receiveOne(url);
    await expectHiddenFor(url, 30);
  });

  it("hides by the receive's own timeout before the queue's", async () => {
    const long = await oneInFlight(0, { VisibilityTimeout: 600 });
    await expectHiddenFor(long.url, 600);
    const short = await oneInFlight(600, { VisibilityTimeout: 1 });
    expect(await sqs.receive(short.url, { WaitTimeSeconds: 10 })).toHaveLength(1);
    await expectHiddenFor(short.url, 600);
  });

  it('hides for up to twelve hours', async () => {
    const ofQueue = await oneInFlight(43_200);
    await expectHiddenFor(ofQueue.url, 43_200);
    const ofReceive = await oneInFlight(30, { VisibilityTimeout: 43_200 });
    await expectHiddenFor(ofReceive.url, 43_200);
  });

  it('hides a message that was received with a timeout of 0 at the next receive', async () => {
    const { url, message } = await oneInFlight(600, { VisibilityTimeout: 0 });
    expect(await sqs.counts(url)).toEqual({ visible: 1, inFlight: 0, delayed: 0 });
    const again = await sqs.receiveOne(url);
    expect(again.ReceiptHandle).not.toBe(message.ReceiptHandle);
    await expectHiddenFor(url, 600);
  });

  it("leaves messages in flight alone when the queue's timeout is set", async () => {
    const { url } = await oneInFlight(600);
    await sqs.client.setQueueAttributes({ QueueUrl: url, Attributes: { VisibilityTimeout: '1' } });
    await expectHiddenFor(url, 600);
  });

  it('changes a timeout counting from the call, not from the receive', async () => {
    const { url, message } = await oneInFlight(600);
    await sqs.age(url, '300 seconds');
    await sqs.change(url, message, 200);
    await expectHiddenFor(url, 200);
    await sqs.change(url, message, 1);
    const { answer, tookMs } = await timed(() => sqs.receive(url, { WaitTimeSeconds: 10 }));
    expect(answer).toHaveLength(1);
    expect(tookMs).toBeGreaterThan(500);
    expect(tookMs).toBeLessThan(4_000);
  });

  it('changes a timeout for one receive only', async () => {
    const { url, message } = await oneInFlight(300);
    await sqs.change(url, message, 600);
    await expectHiddenFor(url, 600);
    await sqs.change(url, message, 0);
    await sqs.receiveOne(url);
    await expectHiddenFor(url, 300);
  });

  it('shows a message at once when its timeout is changed to 0', async () => {
    const { url, message } = await oneInFlight(600);
    await sqs.change(url, message, 0);
    expect(await sqs.counts(url)).toEqual({ visible: 1, inFlight: 0, delayed: 0 });
    expect((await sqs.receiveOne(url)).MessageId).toBe(message.MessageId);
  });

  it('hides a visible message again when its timeout is changed', async () => {
    const { url, message } = await oneInFlight(600);
    await sqs.change(url, message, 0);
    await sqs.change(url, message, 300);
    await expectHiddenFor(url, 300);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 1, delayed: 0 });
    await sqs.delete(url, message);
    await sqs.delete(url, message);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });

  it('takes a change with a handle whose timeout is over', async () => {
    const { url, message } = await oneInFlight(1);
    await sleep(1_050);
    expect(await sqs.counts(url)).toMatchObject({ visible: 1 });
    await sqs.change(url, message, 300);
    await expectHiddenFor(url, 300);
  });

  it('takes a change with the handle of an earlier receive', async () => {
    const { url, message: earlier } = await oneInFlight(600, { VisibilityTimeout: 0 });
    const later = await sqs.receiveOne(url);
    await sqs.change(url, earlier, 300);
    await expectHiddenFor(url, 300);
    await sqs.change(url, earlier, 0);
    const last = await sqs.receiveOne(url, { AttributeNames: ['All'] });
    expect(last.MessageId).toBe(later.MessageId);
    expect(last.Attributes?.ApproximateReceiveCount).toBe('3');
  });

  it('refuses a change of a deleted message', async () => {
    const { url, message } = await oneInFlight(600);
    await sqs.delete(url, message);
    for (const seconds of [0, 60]) {
      expect(await refusal(sqs.change(url, message, seconds))).toEqual({
        code: 'InvalidParameterValue',
        status: 400,
        message: `Value ${message.ReceiptHandle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`,
      });
    }
  });

  const tooLong = (seconds: number) => ({
    code: 'InvalidParameterValue',
    status: 400,
    message: `Value ${seconds} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]`,
  });

  it('refuses twelve hours right after a receive, and takes five seconds less', async () => {
    const { url, message } = await oneInFlight(600);
    expect(await refusal(sqs.change(url, message, 43_200))).toEqual(tooLong(43_200));
    await expectHiddenFor(url, 600);
    await sqs.change(url, message, 43_195);
    await expectHiddenFor(url, 43_195);
  });

  it('counts twelve hours from the receive, however often the timeout was changed', async () => {
    const { url, message } = await oneInFlight(600);
    await sqs.age(url, '11 hours');
    await sqs.change(url, message, 60);
    expect(await refusal(sqs.change(url, message, 3_601))).toEqual(tooLong(3_601));
    await sqs.change(url, message, 3_590);
    await expectHiddenFor(url, 3_590);
    await sqs.age(url, '1 hour');
    expect(await refusal(sqs.change(url, message, 1))).toEqual(tooLong(1));
  });

  it('counts twelve hours anew from the next receive', async () => {
    const { url, message } = await oneInFlight(600, { VisibilityTimeout: 0 });
    await sqs.age(url, '11 hours');
    const again = await sqs.receiveOne(url);
    await sqs.change(url, again, 43_190);
    await expectHiddenFor(url, 43_190);
    expect(again.ReceiptHandle).not.toBe(message.ReceiptHandle);
  });

  it('keeps a message hidden for as long as a heartbeat extends its timeout', async () => {
    const { url, message } = await oneInFlight(2);
    const beating = (async () => {
      for (let beat = 1; beat <= 6; beat += 1) {
        await sleep(500);
        await sqs.change(url, message, 2);
      }
    })();
    // A poll over the whole time, longer than the timeout, and then one for what comes after.
    expect(await sqs.receive(url, { WaitTimeSeconds: 3 })).toEqual([]);
    await beating;
    expect((await sqs.receiveOne(url, { WaitTimeSeconds: 5 })).MessageId).toBe(message.MessageId);
  });

  it('refuses a timeout out of range', async () => {
    const { url, message } = await oneInFlight(600);
    for (const seconds of [-1, 43_201]) {
      expect(await refusal(sqs.change(url, message, seconds))).toEqual({
        code: 'InvalidParameterValue',
        status: 400,
        message: `Value ${seconds} for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200.`,
      });
    }
    await expectHiddenFor(url, 600);
  });

  it('refuses a change without timeout or handle', async () => {
    const { url: QueueUrl, message } = await oneInFlight(600);
    const missing = (name: string) => ({
      code: 'MissingParameter',
      status: 400,
      message: `The request must contain the parameter ${name}.`,
    });
    const change = (ReceiptHandle: string | undefined, VisibilityTimeout: number | undefined) =>
      refusal(sqs.client.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout }));
    expect(await change(message.ReceiptHandle, undefined)).toEqual(missing('VisibilityTimeout'));
    // Before the handle is looked at.
    expect(await change('garbage', undefined)).toEqual(missing('VisibilityTimeout'));
    expect(await change(undefined, 1)).toEqual(missing('ReceiptHandle'));
    expect(await change('', 1)).toEqual(missing('ReceiptHandle'));
  });

  it('refuses what is no receipt handle of the queue', async () => {
    const { url, message } = await oneInFlight(600);
    const other = await oneInFlight(600);
    const handle = message.ReceiptHandle;
    const changed = `${handle.slice(0, 10)}${handle[10] === 'A' ? 'B' : 'A'}${handle.slice(11)}`;
    const wrong = ['garbage', other.message.ReceiptHandle, changed, handle.slice(1), `${handle}A`];
    for (const ReceiptHandle of wrong) {
      const refused = {
        code: 'ReceiptHandleIsInvalid',
        status: 404,
        message: `The input receipt handle "${ReceiptHandle}" is not a valid receipt handle.`,
      };
      expect(await refusal(sqs.change(url, { ReceiptHandle }, 0))).toEqual(refused);
    }
    await expectHiddenFor(url, 600);
  });
});
