import { expect, it } from 'vitest';
import { describeOverBothProtocols, refusal, timed } from './both-protocols.ts';

const mebibyte = 1_048_576;

describeOverBothProtocols('Sending', (sqs) => {
  const tooLong = (bytes: number) => ({
    code: 'InvalidParameterValue',
    status: 400,
    message: `One or more parameters are invalid. Reason: Message must be shorter than ${bytes} bytes.`,
  });

  it('answers the id and the checksum of a message, and delivers it as it was', async () => {
    const QueueUrl = await sqs.createQueue();
    const sent = await sqs.client.sendMessage({ QueueUrl, MessageBody: 'Grüße €𝄞' });
    expect(sent).toMatchObject({
      MessageId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      MD5OfMessageBody: 'ebee6c1a1098d08cd214a80c4c408d12',
    });
    expect(sent.MD5OfMessageAttributes).toBeUndefined();
    expect(sent.MD5OfMessageSystemAttributes).toBeUndefined();
    expect(sent.SequenceNumber).toBeUndefined();
    expect(await sqs.receiveOne(QueueUrl)).toMatchObject({
      MessageId: sent.MessageId,
      Body: 'Grüße €𝄞',
      MD5OfBody: 'ebee6c1a1098d08cd214a80c4c408d12',
    });
  });

  it('stores equal messages as different ones', async () => {
    const url = await sqs.createQueue();
    const ids = [await sqs.send(url, 'same'), await sqs.send(url, 'same')];
    expect(new Set(ids).size).toBe(2);
    expect(await sqs.receive(url, { MaxNumberOfMessages: 10 })).toHaveLength(2);
  });

  it('hides a delayed message until it is due', async () => {
    const url = await sqs.createQueue();
    const { tookMs } = await timed(async () => {
      await sqs.send(url, 'later', { DelaySeconds: 1 });
      expect(await sqs.receive(url)).toEqual([]);
      expect((await sqs.receiveOne(url, { WaitTimeSeconds: 10 })).Body).toBe('later');
    });
    expect(tookMs).toBeGreaterThanOrEqual(1_000);
    expect(tookMs).toBeLessThan(5_000);
  });

  it("delays by the queue's time unless the message has its own", async () => {
    const url = await sqs.createQueue({ DelaySeconds: '600' });
    await sqs.send(url, 'late');
    await sqs.send(url, 'now', { DelaySeconds: 0 });
    const [message, ...others] = await sqs.receive(url, { MaxNumberOfMessages: 10 });
    expect(message?.Body).toBe('now');
    expect(others).toEqual([]);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 1, delayed: 1 });
  });

  it("does not delay messages that were sent before the queue's delay was set", async () => {
    const QueueUrl = await sqs.createQueue();
    await sqs.send(QueueUrl, 'before');
    await sqs.client.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds: '600' } });
    expect((await sqs.receiveOne(QueueUrl)).Body).toBe('before');
  });

  it('takes delays from 0 to 900 seconds', async () => {
    const url = await sqs.createQueue();
    await sqs.send(url, 'latest', { DelaySeconds: 900 });
    expect(await sqs.hiddenForSeconds(url)).toBeGreaterThan(890);
    for (const DelaySeconds of [-1, 901]) {
      expect(await refusal(sqs.send(url, 'x', { DelaySeconds }))).toEqual({
        code: 'InvalidParameterValue',
        status: 400,
        message: `Value ${DelaySeconds} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.`,
      });
    }
  });

  it('refuses an empty body and a missing one', async () => {
    const QueueUrl = await sqs.createQueue();
    for (const MessageBody of ['', undefined]) {
      expect(await refusal(sqs.client.sendMessage({ QueueUrl, MessageBody }))).toEqual({
        code: 'MissingParameter',
        status: 400,
        message: 'The request must contain the parameter MessageBody.',
      });
    }
  });

  it('takes a body of 1 MiB and no byte more', async () => {
    const url = await sqs.createQueue();
    await sqs.send(url, 'x'.repeat(mebibyte));
    expect((await sqs.receiveOne(url)).Body).toHaveLength(mebibyte);
    expect(await refusal(sqs.send(url, 'x'.repeat(mebibyte + 1)))).toEqual(tooLong(mebibyte));
  });

  it('counts the bytes of UTF-8, not characters', async () => {
    const url = await sqs.createQueue({ MaximumMessageSize: '1024' });
    // Three bytes, four bytes, and two bytes a character.
    for (const body of [`${'€'.repeat(341)}x`, '𝄞'.repeat(256), 'é'.repeat(512)]) {
      expect(Buffer.byteLength(body)).toBe(1_024);
      await sqs.send(url, body);
      expect(await refusal(sqs.send(url, `${body}x`))).toEqual(tooLong(1_024));
    }
  });

  it('counts names, types and raw values of message attributes', async () => {
    const url = await sqs.createQueue({ MaximumMessageSize: '1024' });
    const MessageAttributes = {
      // 4 + 11 + 2, and 6 + 6 + 100: base64 would take more.
      näh: { DataType: 'String.json', StringValue: '{}' },
      binary: { DataType: 'Binary', BinaryValue: new Uint8Array(100) },
    };
    const room = 1_024 - 17 - 112;
    await sqs.send(url, 'x'.repeat(room), { MessageAttributes });
    expect(await refusal(sqs.send(url, 'x'.repeat(room + 1), { MessageAttributes }))).toEqual(
      tooLong(1_024),
    );
  });

  it("refuses what is over the queue's own maximum", async () => {
    const url = await sqs.createQueue({ MaximumMessageSize: '2000' });
    await sqs.send(url, 'x'.repeat(2_000));
    expect(await refusal(sqs.send(url, 'x'.repeat(2_001)))).toEqual(tooLong(2_000));
    expect(await sqs.counts(url)).toMatchObject({ visible: 1 });
  });

  it('delivers every allowed character unchanged', async () => {
    const url = await sqs.createQueue();
    // The XML parser of the older SDK does not read the reference that AWS writes for a carriage return.
    const carriageReturns = sqs.protocol === 'JSON' ? '\r\r\n' : '';
    const body = `start \t\n${carriageReturns}\u{20}\u{7F}\u{85}\u{D7FF}\u{E000}\u{FFFD}\u{10000}\u{10FFFF} <&>"' %41+ end`;
    await sqs.send(url, body);
    expect((await sqs.receiveOne(url)).Body).toBe(body);
  });

  it.each(['\u{0}', '\u{8}', '\u{B}', '\u{C}', '\u{1F}', '\u{FFFE}', '\u{FFFF}'])(
    'refuses the character %j',
    async (character) => {
      const url = await sqs.createQueue();
      expect(await refusal(sqs.send(url, `a${character}b`))).toMatchObject({
        code: 'InvalidMessageContents',
        status: 400,
      });
      expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
    },
  );

  it('keeps a message group on a standard queue without ordering by it', async () => {
    const QueueUrl = await sqs.createQueue();
    const sent = await sqs.client.sendMessage({ QueueUrl, MessageBody: 'a', MessageGroupId: 'g' });
    expect(sent.SequenceNumber).toBeUndefined();
    await sqs.send(QueueUrl, 'b', { MessageGroupId: 'g' });
    const first = await sqs.receiveOne(QueueUrl, { AttributeNames: ['All'] });
    expect(first.Attributes).toMatchObject({ MessageGroupId: 'g' });
    // The group is not blocked while one of its messages is in flight.
    await sqs.receiveOne(QueueUrl);
  });

  it.each(['', 'group 123', 'a'.repeat(129), 'é'])(
    'refuses the message group %j',
    async (MessageGroupId) => {
      const url = await sqs.createQueue();
      expect(await refusal(sqs.send(url, 'x', { MessageGroupId }))).toEqual({
        code: 'InvalidParameterValue',
        status: 400,
        message: `Value ${MessageGroupId} for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
      });
    },
  );

  it('refuses a deduplication id on a standard queue', async () => {
    const url = await sqs.createQueue();
    expect(await refusal(sqs.send(url, 'x', { MessageDeduplicationId: 'd' }))).toMatchObject({
      code: 'InvalidParameterValue',
      status: 400,
    });
  });

  it('carries a trace header, with a checksum of its own', async () => {
    const QueueUrl = await sqs.createQueue();
    const StringValue =
      'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1';
    const sent = await sqs.client.sendMessage({
      QueueUrl,
      MessageBody: 'traced',
      MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue } },
    });
    expect(sent.MD5OfMessageSystemAttributes).toBe('5ae4d5d7636402d80f4eb6d213245a88');
    expect(sent.MD5OfMessageAttributes).toBeUndefined();
    const received = await sqs.receiveOne(QueueUrl, {
      AttributeNames: ['All'],
      MessageAttributeNames: ['All'],
    });
    expect(received.Attributes).toMatchObject({ AWSTraceHeader: StringValue });
    expect(received.MessageAttributes).toBeUndefined();
  });

  it('does not count a trace header against the size of a message', async () => {
    const url = await sqs.createQueue({ MaximumMessageSize: '1024' });
    await sqs.send(url, 'x'.repeat(1_024), {
      MessageSystemAttributes: {
        AWSTraceHeader: { DataType: 'String', StringValue: 'Root=1-5759e988' },
      },
    });
    expect(await sqs.counts(url)).toMatchObject({ visible: 1 });
  });

  it('refuses system attributes other than a trace header of text', async () => {
    const url = await sqs.createQueue();
    const trace = { DataType: 'String', StringValue: 'x' };
    expect(
      await refusal(
        // The name is not one that the SDK's type allows.
        sqs.send(url, 'x', { MessageSystemAttributes: { Foo: trace } as object }),
      ),
    ).toEqual({
      code: 'InvalidParameterValue',
      status: 400,
      message: "Message system attribute name 'Foo' is invalid.",
    });
    expect(
      await refusal(
        sqs.send(url, 'x', {
          MessageSystemAttributes: { AWSTraceHeader: { DataType: 'Number', StringValue: '1' } },
        }),
      ),
    ).toMatchObject({ code: 'InvalidParameterValue', status: 400 });
  });

  it('stores nothing when it refuses', async () => {
    const url = await sqs.createQueue();
    await refusal(sqs.send(url, 'x', { DelaySeconds: 901 }));
    await refusal(sqs.send(url, 'x', { MessageAttributes: { a: { DataType: 'Wrong' } } }));
    await refusal(sqs.send(url, 'x'.repeat(mebibyte + 1)));
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });
});
