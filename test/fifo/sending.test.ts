import { expect, it } from 'vitest';
import { describeOverBothProtocols, refusal } from '../behaviour/both-protocols.ts';
import { bodies, createFifoQueue, post, postAll, postBatch, take } from './fifo-subject.ts';

const identifierRule =
  'can only include alphanumeric and punctuation characters. 1 to 128 in length.';
const invalid = (message: string) => ({ code: 'InvalidParameterValue', status: 400, message });
const missing = (name: string) => ({
  code: 'MissingParameter',
  status: 400,
  message: `The request must contain the parameter ${name}.`,
});
const missingDeduplicationId = invalid(
  'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
);

describeOverBothProtocols('Sending to a FIFO queue', (sqs) => {
  it('answers a sequence number of 20 digits, which grows', async () => {
    const url = await createFifoQueue(sqs);
    const numbers: string[] = [];
    for (const name of ['1', '2', '3']) {
      const { SequenceNumber } = await post(sqs, url, 'g', name);
      expect(SequenceNumber).toMatch(/^\d{20}$/);
      numbers.push(String(SequenceNumber));
    }
    expect([...numbers].sort()).toEqual(numbers);
    expect(new Set(numbers).size).toBe(3);

    const received = await take(sqs, url, { AttributeNames: ['All'] });
    expect(received.map(({ Attributes }) => Attributes?.SequenceNumber)).toEqual(numbers);
    expect(received[0]?.Attributes).toMatchObject({
      MessageGroupId: 'g',
      MessageDeduplicationId: '1',
      ApproximateReceiveCount: '1',
    });
  });

  it('stores the messages of a batch in the order of its entries', async () => {
    const url = await createFifoQueue(sqs);
    const names = ['a-1', 'b-1', 'a-2', 'b-2', 'a-3', 'a-4', 'b-3', 'a-5'];
    const { Successful = [], Failed } = await postBatch(sqs, url, names);
    expect(Failed).toBeUndefined();
    expect(Successful.map(({ Id }) => Id)).toEqual(names.map((_, index) => `entry-${index}`));
    const numbers = Successful.map(({ SequenceNumber }) => String(SequenceNumber));
    expect([...numbers].sort()).toEqual(numbers);
    expect(bodies(await take(sqs, url))).toEqual([
      ...['a-1', 'a-2', 'a-3', 'a-4', 'a-5'],
      ...['b-1', 'b-2', 'b-3'],
    ]);
  });

  it('requires a message group, with another code in a batch', async () => {
    const QueueUrl = await createFifoQueue(sqs, { ContentBasedDeduplication: 'true' });
    expect(await refusal(sqs.client.sendMessage({ QueueUrl, MessageBody: 'x' }))).toEqual(
      missing('MessageGroupId'),
    );
    const batch = sqs.client.sendMessageBatch({
      QueueUrl,
      Entries: [
        { Id: 'with', MessageBody: 'x', MessageGroupId: 'g' },
        { Id: 'without', MessageBody: 'y' },
      ],
    });
    expect(await refusal(batch)).toEqual(
      invalid('The request must contain the parameter MessageGroupId.'),
    );
    expect(await sqs.counts(QueueUrl)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });

  it('requires a deduplication id where the queue makes none', async () => {
    const QueueUrl = await createFifoQueue(sqs);
    expect(await refusal(post(sqs, QueueUrl, 'g', 'x', ''))).toEqual(missingDeduplicationId);
    const batch = sqs.client.sendMessageBatch({
      QueueUrl,
      Entries: [
        { Id: 'a', MessageBody: 'x', MessageGroupId: 'g', MessageDeduplicationId: 'x' },
        { Id: 'b', MessageBody: 'y', MessageGroupId: 'g' },
      ],
    });
    expect(await refusal(batch)).toEqual(missingDeduplicationId);
    expect(await sqs.counts(QueueUrl)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });

  it.each(['MessageGroupId', 'MessageDeduplicationId'])(
    'takes a %s of 1 to 128 printable characters',
    async (name) => {
      const QueueUrl = await createFifoQueue(sqs);
      const given = { MessageGroupId: 'g', MessageDeduplicationId: 'd' };
      const punctuation = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';
      for (const value of ['x'.repeat(128), punctuation]) {
        await sqs.client.sendMessage({ QueueUrl, MessageBody: 'x', ...given, [name]: value });
      }
      for (const value of ['with space', 'x'.repeat(129), 'é', '']) {
        const sent = sqs.client.sendMessage({
          QueueUrl,
          MessageBody: 'x',
          ...given,
          [name]: value,
        });
        expect(await refusal(sent)).toEqual(
          invalid(
            `Value ${value} for parameter ${name} is invalid. Reason: ${name} ${identifierRule}`,
          ),
        );
      }
    },
  );

  it('fails an entry with a bad group alone', async () => {
    const QueueUrl = await createFifoQueue(sqs);
    const { Successful, Failed } = await sqs.client.sendMessageBatch({
      QueueUrl,
      Entries: ['g', 'no group', 'h'].map((group, index) => ({
        Id: `entry-${index}`,
        MessageBody: group,
        MessageGroupId: group,
        MessageDeduplicationId: `d${index}`,
      })),
    });
    expect(Successful?.map(({ Id }) => Id)).toEqual(['entry-0', 'entry-2']);
    expect(Failed).toMatchObject([
      { Id: 'entry-1', Code: 'InvalidParameterValue', SenderFault: true },
    ]);
    expect(bodies(await take(sqs, QueueUrl))).toEqual(['g', 'h']);
  });

  it("refuses a message's own delay, and takes 0 as none", async () => {
    const QueueUrl = await createFifoQueue(sqs, { DelaySeconds: '600' });
    const message = { MessageBody: 'x', MessageGroupId: 'g', MessageDeduplicationId: 'd' };
    const refused = invalid(
      'Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.',
    );
    expect(
      await refusal(sqs.client.sendMessage({ QueueUrl, ...message, DelaySeconds: 2 })),
    ).toEqual(refused);
    const { Failed } = await sqs.client.sendMessageBatch({
      QueueUrl,
      Entries: [{ Id: 'a', ...message, DelaySeconds: 2 }],
    });
    expect(Failed).toMatchObject([{ Id: 'a', Code: refused.code, Message: refused.message }]);

    await sqs.client.sendMessage({ QueueUrl, ...message, DelaySeconds: 0 });
    expect(await sqs.counts(QueueUrl)).toEqual({ visible: 0, inFlight: 0, delayed: 1 });
  });

  it("delays by the queue's time, in order", async () => {
    const url = await createFifoQueue(sqs, { DelaySeconds: '1' });
    await postAll(sqs, url, ['g-1', 'h-1', 'g-2']);
    expect(await take(sqs, url)).toEqual([]);
    expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 0, delayed: 3 });
    const seen: string[] = [];
    while (seen.length < 3) {
      const received = await take(sqs, url, { WaitTimeSeconds: 5 });
      expect(received).not.toEqual([]);
      seen.push(...bodies(received));
      for (const message of received) {
        await sqs.delete(url, message);
      }
    }
    expect(seen.filter((body) => body.startsWith('g'))).toEqual(['g-1', 'g-2']);
  });

  it('lets no message overtake a delayed one of its group', async () => {
    const QueueUrl = await createFifoQueue(sqs, { DelaySeconds: '900' });
    await post(sqs, QueueUrl, 'g', 'delayed');
    await sqs.client.setQueueAttributes({ QueueUrl, Attributes: { DelaySeconds: '0' } });
    await post(sqs, QueueUrl, 'g', 'at-once');
    await post(sqs, QueueUrl, 'h', 'other-group');
    expect(bodies(await take(sqs, QueueUrl))).toEqual(['other-group']);
  });

  it('refuses a body over the maximum, alone or as one entry', async () => {
    const QueueUrl = await createFifoQueue(sqs, { MaximumMessageSize: '1024' });
    const large = 'x'.repeat(1_025);
    expect(await refusal(post(sqs, QueueUrl, 'g', large, 'd'))).toEqual(
      invalid(
        'One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.',
      ),
    );
    const { Successful, Failed } = await sqs.client.sendMessageBatch({
      QueueUrl,
      Entries: ['small', large].map((MessageBody, index) => ({
        Id: `entry-${index}`,
        MessageBody,
        MessageGroupId: 'g',
        MessageDeduplicationId: `d${index}`,
      })),
    });
    expect(Successful).toHaveLength(1);
    expect(Failed).toMatchObject([
      {
        Id: 'entry-1',
        Message:
          'One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.',
      },
    ]);
    // Refused is not sent: the id is free.
    expect((await post(sqs, QueueUrl, 'g', 'small again', 'd')).SequenceNumber).toMatch(/^\d{20}$/);
    expect(bodies(await take(sqs, QueueUrl))).toEqual(['small', 'small again']);
  });

  it('stores the messages of one group in the order in which many senders were answered', async () => {
    const url = await createFifoQueue(sqs);
    const answers: { body: string; number: string }[] = [];
    await Promise.all(
      Array.from({ length: 8 }, async (_, sender) => {
        for (let index = 0; index < 5; index += 1) {
          const body = `${sender}-${index}`;
          const { SequenceNumber } = await post(sqs, url, 'g', body);
          answers.push({ body, number: String(SequenceNumber) });
        }
      }),
    );
    const inOrder = answers.sort((one, other) => (one.number < other.number ? -1 : 1));
    const received: string[] = [];
    while (received.length < 40) {
      const messages = await take(sqs, url);
      expect(messages).toHaveLength(10);
      received.push(...bodies(messages));
      for (const message of messages) {
        await sqs.delete(url, message);
      }
    }
    expect(received).toEqual(inOrder.map(({ body }) => body));
  });
});
