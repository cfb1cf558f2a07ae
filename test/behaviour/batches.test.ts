import { expect, it } from 'vitest';
import { describeOverBothProtocols, present, refusal } from './both-protocols.ts';

const mebibyte = 1_048_576;

interface Entry {
  Id: string | undefined;
}

describeOverBothProtocols('Batches', (sqs) => {
  const code = (name: string) => `AWS.SimpleQueueService.${name}`;

  /** Sends so many messages and receives them. */
  async function receiveMany(queueUrl: string, count: number): Promise<string[]> {
    await sqs.client.sendMessageBatch({
      QueueUrl: queueUrl,
      Entries: Array.from({ length: count }, (_, index) => ({
        Id: `${index}`,
        MessageBody: `message ${index}`,
      })),
    });
    const handles: string[] = [];
    while (handles.length < count) {
      const messages = await sqs.receive(queueUrl, { MaxNumberOfMessages: 10 });
      expect(messages).not.toEqual([]);
      handles.push(...messages.map((message) => present(message.ReceiptHandle)));
    }
    return handles;
  }

  const actions = [
    {
      action: 'SendMessageBatch',
      run: (QueueUrl: string, entries: Entry[]) =>
        sqs.client.sendMessageBatch({
          QueueUrl,
          Entries: entries.map((entry) => ({ ...entry, MessageBody: 'x' })),
        }),
    },
    {
      action: 'DeleteMessageBatch',
      run: (QueueUrl: string, entries: Entry[]) =>
        sqs.client.deleteMessageBatch({
          QueueUrl,
          Entries: entries.map((entry) => ({ ...entry, ReceiptHandle: 'garbage' })),
        }),
    },
    {
      action: 'ChangeMessageVisibilityBatch',
      run: (QueueUrl: string, entries: Entry[]) =>
        sqs.client.changeMessageVisibilityBatch({
          QueueUrl,
          Entries: entries.map((entry) => ({
            ...entry,
            ReceiptHandle: 'garbage',
            VisibilityTimeout: 1,
          })),
        }),
    },
  ];

  it.each(actions)(
    'of $action are refused as a whole when their ids are wrong',
    async ({ action, run }) => {
      const url = await sqs.createQueue();
      const refused = (...ids: (string | undefined)[]) =>
        refusal(
          run(
            url,
            ids.map((Id) => ({ Id })),
          ),
        );
      const numbers = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);

      expect(await refused()).toEqual({
        code: code('EmptyBatchRequest'),
        status: 400,
        message: `There should be at least one ${action}RequestEntry in the request.`,
      });
      expect(await refused(...numbers(11))).toEqual({
        code: code('TooManyEntriesInBatchRequest'),
        status: 400,
        message: 'Maximum number of entries per request are 10. You have sent 11.',
      });
      for (const id of ['', 'x'.repeat(81), 'a:b', 'a b', 'é', 'a.b']) {
        expect(await refused('good', id)).toEqual({
          code: code('InvalidBatchEntryId'),
          status: 400,
          message:
            'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
        });
      }
      expect(await refused('a', 'b', 'c', 'b', 'a')).toEqual({
        code: code('BatchEntryIdsNotDistinct'),
        status: 400,
        message: 'Id b repeated.',
      });
      expect(await refused('a', undefined)).toEqual({
        code: 'MissingParameter',
        status: 400,
        message: `The request must contain the parameter ${action}RequestEntry.2.Id.`,
      });
      expect(await sqs.counts(url)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
    },
  );

  it('take ids of 80 letters, digits, hyphens and underscores', async () => {
    const QueueUrl = await sqs.createQueue();
    const Id = 'Az-09_'.padEnd(80, 'x');
    const { Successful } = await sqs.client.sendMessageBatch({
      QueueUrl,
      Entries: [{ Id, MessageBody: 'x' }],
    });
    expect(Successful).toMatchObject([{ Id }]);
  });

  it('send messages, each with its own delay and attributes', async () => {
    const QueueUrl = await sqs.createQueue();
    const { Successful, Failed } = await sqs.client.sendMessageBatch({
      QueueUrl,
      Entries: [
        { Id: 'plain', MessageBody: 'hello' },
        { Id: 'delayed', MessageBody: 'later', DelaySeconds: 600 },
        {
          Id: 'attributed',
          MessageBody: 'hello',
          MessageAttributes: { Foo: { DataType: 'String', StringValue: 'Bar' } },
          MessageSystemAttributes: {
            AWSTraceHeader: {
              DataType: 'String',
              StringValue:
                'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1',
            },
          },
        },
      ],
    });
    expect(Failed).toBeUndefined();
    expect(Successful?.map(({ Id }) => Id)).toEqual(['plain', 'delayed', 'attributed']);
    expect(Successful?.[0]).toMatchObject({
      MessageId: expect.any(String),
      MD5OfMessageBody: '5d41402abc4b2a76b9719d911017c592',
    });
    expect(Successful?.[2]).toMatchObject({
      MD5OfMessageAttributes: 'ae7155c6026991b6d54b11589678bf9c',
      MD5OfMessageSystemAttributes: '5ae4d5d7636402d80f4eb6d213245a88',
    });
    const received = await sqs.receive(QueueUrl, { MaxNumberOfMessages: 10 });
    expect(received.map(({ MessageId }) => MessageId).toSorted()).toEqual(
      [Successful?.[0]?.MessageId, Successful?.[2]?.MessageId].toSorted(),
    );
    expect(await sqs.counts(QueueUrl)).toEqual({ visible: 0, inFlight: 2, delayed: 1 });
  });

  it('send what they can', async () => {
    const QueueUrl = await sqs.createQueue({ MaximumMessageSize: '1024' });
    const { Successful, Failed } = await sqs.client.sendMessageBatch({
      QueueUrl,
      Entries: [
        { Id: 'good', MessageBody: 'x' },
        { Id: 'empty', MessageBody: '' },
        { Id: 'bodiless', MessageBody: undefined },
        { Id: 'late', MessageBody: 'x', DelaySeconds: 901 },
        { Id: 'long', MessageBody: 'x'.repeat(1_025) },
        { Id: 'garbled', MessageBody: '\u{1F}' },
        { Id: 'typed', MessageBody: 'x', MessageAttributes: { a: { DataType: 'Wrong' } } },
        { Id: 'grouped', MessageBody: 'x', MessageGroupId: 'a group' },
        { Id: 'deduplicated', MessageBody: 'x', MessageDeduplicationId: 'd' },
        { Id: 'fine', MessageBody: 'x'.repeat(1_024) },
      ],
    });
    expect(Successful?.map(({ Id }) => Id)).toEqual(['good', 'fine']);
    const failures = Object.fromEntries((Failed ?? []).map(({ Id, ...failure }) => [Id, failure]));
    const invalid = expect.objectContaining({ Code: 'InvalidParameterValue', SenderFault: true });
    expect(failures).toEqual({
      empty: expect.objectContaining({ Code: 'EmptyValue', SenderFault: true }),
      bodiless: {
        Code: 'MissingParameter',
        Message:
          'The request must contain the parameter SendMessageBatchRequestEntry.3.MessageBody.',
        SenderFault: true,
      },
      late: {
        Code: 'InvalidParameterValue',
        Message:
          'Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.',
        SenderFault: true,
      },
      long: {
        Code: 'InvalidParameterValue',
        Message:
          'One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.',
        SenderFault: true,
      },
      garbled: expect.objectContaining({ Code: 'InvalidMessageContents', SenderFault: true }),
      typed: invalid,
      grouped: invalid,
      deduplicated: invalid,
    });
    expect(await sqs.counts(QueueUrl)).toEqual({ visible: 2, inFlight: 0, delayed: 0 });
  });

  it('answer failures alone when nothing succeeds', async () => {
    const QueueUrl = await sqs.createQueue();
    const { Successful, Failed } = await sqs.client.sendMessageBatch({
      QueueUrl,
      Entries: [{ Id: 'late', MessageBody: 'x', DelaySeconds: 901 }],
    });
    expect(Successful).toBeUndefined();
    expect(Failed).toMatchObject([{ Id: 'late', Code: 'InvalidParameterValue' }]);
  });

  it('send 1 MiB in all and no byte more', async () => {
    const QueueUrl = await sqs.createQueue();
    const bodies = (...sizes: number[]) =>
      sqs.client.sendMessageBatch({
        QueueUrl,
        Entries: sizes.map((size, index) => ({ Id: `${index}`, MessageBody: 'x'.repeat(size) })),
      });
    const tooLong = (bytes: number) => ({
      code: code('BatchRequestTooLong'),
      status: 400,
      message: `Batch requests cannot be longer than ${mebibyte} bytes. You have sent ${bytes} bytes.`,
    });
    expect((await bodies(mebibyte / 2, mebibyte / 2)).Successful).toHaveLength(2);
    expect(await refusal(bodies(mebibyte / 2, mebibyte / 2 + 1))).toEqual(tooLong(mebibyte + 1));
    expect(await refusal(bodies(mebibyte + 1))).toEqual(tooLong(mebibyte + 1));
    expect(await sqs.counts(QueueUrl)).toMatchObject({ visible: 2 });
  });

  it('count message attributes in their size', async () => {
    const QueueUrl = await sqs.createQueue();
    const MessageAttributes = { name: { DataType: 'String', StringValue: 'value' } };
    const send = (size: number) =>
      sqs.client.sendMessageBatch({
        QueueUrl,
        Entries: [{ Id: 'a', MessageBody: 'x'.repeat(size), MessageAttributes }],
      });
    expect((await send(mebibyte - 15)).Successful).toHaveLength(1);
    expect(await refusal(send(mebibyte - 14))).toMatchObject({
      code: code('BatchRequestTooLong'),
      message: `Batch requests cannot be longer than ${mebibyte} bytes. You have sent ${mebibyte + 1} bytes.`,
    });
  });

  it('delete what they can', async () => {
    const QueueUrl = await sqs.createQueue();
    const [first, second] = await receiveMany(QueueUrl, 3);
    const { Successful, Failed } = await sqs.client.deleteMessageBatch({
      QueueUrl,
      Entries: [
        { Id: 'first', ReceiptHandle: first },
        { Id: 'wrong', ReceiptHandle: 'garbage' },
        { Id: 'missing', ReceiptHandle: undefined },
        { Id: 'second', ReceiptHandle: second },
        { Id: 'again', ReceiptHandle: second },
      ],
    });
    expect(Successful).toEqual([{ Id: 'first' }, { Id: 'second' }, { Id: 'again' }]);
    expect(Failed).toEqual([
      {
        Id: 'wrong',
        Code: 'ReceiptHandleIsInvalid',
        Message: 'The input receipt handle "garbage" is not a valid receipt handle.',
        SenderFault: true,
      },
      {
        Id: 'missing',
        Code: 'MissingParameter',
        Message:
          'The request must contain the parameter DeleteMessageBatchRequestEntry.3.ReceiptHandle.',
        SenderFault: true,
      },
    ]);
    expect(await sqs.counts(QueueUrl)).toEqual({ visible: 0, inFlight: 1, delayed: 0 });
  });

  it('succeed at deleting what is gone already', async () => {
    const QueueUrl = await sqs.createQueue();
    const [handle] = await receiveMany(QueueUrl, 1);
    const Entries = [{ Id: 'a', ReceiptHandle: handle }];
    for (let time = 1; time <= 2; time += 1) {
      const { Successful, Failed } = await sqs.client.deleteMessageBatch({ QueueUrl, Entries });
      expect(Successful).toEqual([{ Id: 'a' }]);
      expect(Failed).toBeUndefined();
    }
  });

  it('change the visibility of what they can', async () => {
    const QueueUrl = await sqs.createQueue();
    const [shown, hidden, deleted, tooLong] = await receiveMany(QueueUrl, 4);
    await sqs.client.deleteMessage({ QueueUrl, ReceiptHandle: deleted });
    const { Successful, Failed } = await sqs.client.changeMessageVisibilityBatch({
      QueueUrl,
      Entries: [
        { Id: 'shown', ReceiptHandle: shown, VisibilityTimeout: 0 },
        { Id: 'wrong', ReceiptHandle: 'garbage', VisibilityTimeout: 1 },
        { Id: 'deleted', ReceiptHandle: deleted, VisibilityTimeout: 1 },
        { Id: 'range', ReceiptHandle: hidden, VisibilityTimeout: 43_201 },
        { Id: 'total', ReceiptHandle: tooLong, VisibilityTimeout: 43_200 },
        { Id: 'untimed', ReceiptHandle: hidden },
        { Id: 'hidden', ReceiptHandle: hidden, VisibilityTimeout: 600 },
      ],
    });
    expect(Successful?.map(({ Id }) => Id)).toEqual(['shown', 'hidden']);
    const failures = Object.fromEntries((Failed ?? []).map(({ Id, ...failure }) => [Id, failure]));
    const failure = (Code: string, Message: string) => ({ Code, Message, SenderFault: true });
    expect(failures).toEqual({
      wrong: failure(
        'ReceiptHandleIsInvalid',
        'The input receipt handle "garbage" is not a valid receipt handle.',
      ),
      deleted: failure(
        'InvalidParameterValue',
        `Value ${deleted} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`,
      ),
      range: failure(
        'InvalidParameterValue',
        'Value 43201 for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be an integer between 0 and 43200.',
      ),
      total: failure(
        'InvalidParameterValue',
        'Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]',
      ),
      untimed: failure(
        'MissingParameter',
        'The request must contain the parameter ChangeMessageVisibilityBatchRequestEntry.6.VisibilityTimeout.',
      ),
    });
    expect(await sqs.counts(QueueUrl)).toEqual({ visible: 1, inFlight: 2, delayed: 0 });
  });
});
