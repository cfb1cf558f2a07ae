import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import { beforeAll, expect, it } from 'vitest';
import { describeOverBothProtocols, type Refusal, refusal, timed } from './both-protocols.ts';

const text = (StringValue: string, DataType = 'String') => ({ DataType, StringValue });
const number = (StringValue: string) => text(StringValue, 'Number');
const binary = (BinaryValue: Uint8Array, DataType = 'Binary') => ({ DataType, BinaryValue });

/**
 * Checksums that AWS answered, as recorded by other projects, and for binary values and custom types those
 * of a second implementation of the documented digest.
 */
const checksums: [md5: string, attributes: Record<string, MessageAttributeValue>][] = [
  ['ae7155c6026991b6d54b11589678bf9c', { Foo: text('Bar') }],
  ['235c5c510d26fb653d073faed50ae77c', { timestamp: number('1493147359900') }],
  ['a45daa70926828a2f0a1db3418e6feb4', { k: text('x') }],
  ['adb59cd4678ea5a855436b949cd07ab6', { MyAttribute: text('foobar') }],
  ['da1b33cc3cbfe8b1630921e78e6b9880', { color: text('blue') }],
  ['befa18540a897f7d022bf07057754a03', { 'test-key': text('test-value') }],
  [
    '2256c3b617e2b4b3ae4f2d455dcf54d0',
    { 'test-key-alt': text('test-value-alt'), 'test-key': text('test-value') },
  ],
  [
    'd838729972a4b70e2d2acd9d59ac847c',
    { color: text('blue'), count: number('3'), blob: binary(Uint8Array.of(1, 2, 3)) },
  ],
  [
    '4c360f3fdafd970e05fae2f149d997f5',
    { 'Help.Me': text('Me'), Hello: text('There'), General: text('Kenobi') },
  ],
  [
    'a3668928483b57e9375fb6c8d978a654',
    { bytes: binary(Uint8Array.from({ length: 256 }, (_, byte) => byte)) },
  ],
  [
    '1342cc890e3c0c29c0e0aa01cba3530a',
    {
      'b.two': text('42', 'Number.int'),
      'a-one': text('{"é":"€"}', 'String.json'),
      C_three: binary(Uint8Array.of(0x89, 0x50, 0x4e, 0x47), 'Binary.png'),
    },
  ],
];

describeOverBothProtocols('Message attributes', (sqs) => {
  const invalid = (message: string) => ({ code: 'InvalidParameterValue', status: 400, message });

  let queueOfRefusals: string;
  beforeAll(async () => {
    queueOfRefusals = await sqs.createQueue();
  });

  function refusalOf(attributes: Record<string, MessageAttributeValue>): Promise<Refusal> {
    return refusal(sqs.send(queueOfRefusals, 'x', { MessageAttributes: attributes }));
  }

  async function sendWith(attributes: Record<string, MessageAttributeValue>): Promise<string> {
    const url = await sqs.createQueue({ VisibilityTimeout: '0' });
    await sqs.send(url, 'x', { MessageAttributes: attributes });
    return url;
  }

  it.each(checksums)(
    'have the checksum %s for %j, and come back as sent',
    async (md5, attributes) => {
      const QueueUrl = await sqs.createQueue();
      const sent = await sqs.client.sendMessage({
        QueueUrl,
        MessageBody: 'x',
        MessageAttributes: attributes,
      });
      expect(sent.MD5OfMessageAttributes).toBe(md5);
      const received = await sqs.receiveOne(QueueUrl, { MessageAttributeNames: ['All'] });
      expect(received.MD5OfMessageAttributes).toBe(md5);
      for (const [name, { DataType, StringValue, BinaryValue }] of Object.entries(attributes)) {
        const answered = received.MessageAttributes?.[name];
        expect(answered?.DataType).toBe(DataType);
        expect(answered?.StringValue).toBe(StringValue);
        expect(answered?.BinaryValue && Buffer.from(answered.BinaryValue)).toEqual(
          BinaryValue && Buffer.from(BinaryValue),
        );
      }
      expect(Object.keys(received.MessageAttributes ?? {})).toHaveLength(
        Object.keys(attributes).length,
      );
    },
  );

  it('come only when asked for', async () => {
    const url = await sendWith({ Foo: text('Bar') });
    const received = await sqs.receiveOne(url, { AttributeNames: ['All'] });
    expect(received.MessageAttributes).toBeUndefined();
    expect(received.MD5OfMessageAttributes).toBeUndefined();
  });

  it('stay with a message from receive to receive', async () => {
    const url = await sendWith({ Foo: text('Bar') });
    for (let receive = 1; receive <= 2; receive += 1) {
      const received = await sqs.receiveOne(url, { MessageAttributeNames: ['All'] });
      expect(received.MessageAttributes).toMatchObject({ Foo: text('Bar') });
    }
  });

  it.each([
    [['All'], ['General', 'Hello', 'Help.Me'], '4c360f3fdafd970e05fae2f149d997f5'],
    [['.*'], ['General', 'Hello', 'Help.Me'], '4c360f3fdafd970e05fae2f149d997f5'],
    [['*'], ['General', 'Hello', 'Help.Me'], '4c360f3fdafd970e05fae2f149d997f5'],
    [['Hello', 'General'], ['General', 'Hello'], 'fca026605781cb4126a1e9044df24232'],
    [['Foo', 'Hello'], ['Hello'], 'a311262e065454b75da111d535b8dacd'],
    [['Hel.*'], ['Hello', 'Help.Me'], '83fee93c1bcd8b9a5a923ffacdc636c7'],
    [
      ['x*', 'Hel.*', 'Gen*', 'Hello.*'],
      ['General', 'Hello', 'Help.Me'],
      '4c360f3fdafd970e05fae2f149d997f5',
    ],
    [['Help'], [], undefined],
    [['Hello.x*', 'all'], [], undefined],
    [['hello'], [], undefined],
    [['AWS.', '..foo', 'x y'], [], undefined],
    [['AWS.', 'Hello'], ['Hello'], 'a311262e065454b75da111d535b8dacd'],
    [[], [], undefined],
  ])('asked for by %j are %j, with the checksum of these', async (filter, names, md5) => {
    const url = await sendWith({
      'Help.Me': text('Me'),
      Hello: text('There'),
      General: text('Kenobi'),
    });
    const received = await sqs.receiveOne(url, { MessageAttributeNames: filter });
    expect(Object.keys(received.MessageAttributes ?? {}).toSorted()).toEqual(names);
    expect(received.MD5OfMessageAttributes).toBe(md5);
  });

  it.each(['a', 'A-b_c.9', 'attr.1øßä', 'x'.repeat(256)])('take the name %j', async (name) => {
    const url = await sendWith({ [name]: text('v') });
    const received = await sqs.receiveOne(url, { MessageAttributeNames: ['All'] });
    expect(received.MessageAttributes).toMatchObject({ [name]: text('v') });
  });

  it.each([
    'AWS.x',
    'aWs.x',
    'Amazon.x',
    'AMAZON.x',
    '.x',
    'x.',
    'x..y',
    'x!',
    'x y',
    'x"',
    'x§',
    '(x)',
    'x?',
    'x'.repeat(257),
  ])('refuse the name %j', async (name) => {
    expect(await refusalOf({ [name]: text('v') })).toMatchObject({
      code: 'InvalidParameterValue',
      status: 400,
    });
  });

  it.each(['String', 'String.', 'String.custom label', `Number.${'x'.repeat(249)}`])(
    'take the type %j',
    async (DataType) => {
      const url = await sendWith({ a: { DataType, StringValue: '1' } });
      const received = await sqs.receiveOne(url, { MessageAttributeNames: ['All'] });
      expect(received.MessageAttributes).toMatchObject({ a: { DataType, StringValue: '1' } });
    },
  );

  it.each(['Invalid', 'string', 'Strings', 'StringX.y', ' String'])(
    'refuse the type %j',
    async (DataType) => {
      expect(await refusalOf({ a: { DataType, StringValue: '1' } })).toEqual(
        invalid(
          "The type of message (user) attribute 'a' is invalid. You must use only the following supported type prefixes: Binary, Number, String.",
        ),
      );
    },
  );

  it('refuse a type that is too long, empty or missing', async () => {
    expect(
      await refusalOf({ a: { DataType: `Number.${'x'.repeat(256)}`, StringValue: '1' } }),
    ).toMatchObject({ code: 'InvalidParameterValue' });
    const missing = invalid(
      "The message (user) attribute 'a' must contain a non-empty message attribute type.",
    );
    expect(await refusalOf({ a: { DataType: '', StringValue: '1' } })).toEqual(missing);
    expect(await refusalOf({ a: { DataType: undefined, StringValue: '1' } })).toEqual(missing);
  });

  it.each([
    ['no value', { DataType: 'String' }, "must contain a non-empty value of type 'String'."],
    ['an empty value', text(''), "must contain a non-empty value of type 'String'."],
    ['an empty number', number(''), "must contain a non-empty value of type 'Number'."],
    [
      'an empty binary value',
      binary(new Uint8Array()),
      "must contain a non-empty value of type 'Binary'.",
    ],
    ['two values', { ...text('v'), BinaryValue: Uint8Array.of(1) }, 'must have a single value.'],
    [
      'a binary value of type String',
      binary(Uint8Array.of(1), 'String'),
      "with type 'String' must use field 'String'.",
    ],
    ['a text of type Binary', text('v', 'Binary'), "with type 'Binary' must use field 'Binary'."],
  ])('refuse %s', async (_what, value, reason) => {
    expect(await refusalOf({ a: value })).toEqual(
      invalid(`Message (user) attribute 'a' ${reason}`),
    );
  });

  it.each(['0', '-1', '+1', '1.50', '.5', '1e10', '1.5E-7', '9'.repeat(38)])(
    'take the number %s and keep its spelling',
    async (value) => {
      const url = await sendWith({ a: number(value) });
      const received = await sqs.receiveOne(url, { MessageAttributeNames: ['All'] });
      expect(received.MessageAttributes).toMatchObject({ a: number(value) });
    },
  );

  it.each(['abc', '1,5', ' 1', '0x10', 'NaN', 'Infinity', '1e', '9'.repeat(39), '1e200'])(
    'refuse the number %j',
    async (value) => {
      expect(await refusalOf({ a: number(value) })).toMatchObject({
        code: 'InvalidParameterValue',
        status: 400,
      });
    },
  );

  it('refuse a long text that is no number at once', async () => {
    const { answer, tookMs } = await timed(() =>
      refusalOf({ a: number(`${'1'.repeat(100_000)}x`) }),
    );
    expect(answer).toMatchObject({ code: 'InvalidParameterValue', status: 400 });
    expect(tookMs).toBeLessThan(2_000);
  });

  it('refuse a binary value that is longer than any message', async () => {
    expect(await refusalOf({ a: binary(new Uint8Array(4_200_000)) })).toEqual(
      invalid(
        'One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.',
      ),
    );
  });

  it('refuse characters that a body may not hold', async () => {
    expect(await refusalOf({ a: text('a\u{1F}b') })).toMatchObject({
      code: 'InvalidParameterValue',
      status: 400,
    });
  });

  it('deliver every allowed character unchanged', async () => {
    const value = text('\t\n \u{D7FF}\u{E000}\u{10FFFF}<&>"\'é');
    const url = await sendWith({ a: value });
    const received = await sqs.receiveOne(url, { MessageAttributeNames: ['All'] });
    expect(received.MessageAttributes).toMatchObject({ a: value });
  });

  it.each([
    ['texts', { DataType: 'String', StringListValues: ['v'] }],
    ['binary values', { DataType: 'Binary', BinaryListValues: [Uint8Array.of(1)] }],
  ])('do not take lists of %s', async (_what, value) => {
    expect(await refusalOf({ a: value })).toMatchObject({
      code: 'AWS.SimpleQueueService.UnsupportedOperation',
      status: 400,
    });
  });

  it('are ten at most', async () => {
    const attributes = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, text('v')]));
    await sendWith(attributes(10));
    expect(await refusalOf(attributes(11))).toMatchObject({
      code: 'InvalidParameterValue',
      status: 400,
    });
  });
});
