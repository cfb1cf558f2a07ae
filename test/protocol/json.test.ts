import { describe, expect, it } from 'vitest';
import { type Answer, jsonError, send, sendJson, useQueue } from './requests.ts';

const server = useQueue();
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const malformed = (message: unknown = expect.anything()) => ({
  status: 400,
  type: 'com.amazon.coral.service#SerializationException',
  queryError: 'MalformedInput;Sender',
  message,
});

/** An action on the queue of these tests. */
function onQueue(action: string, input: object = {}): Promise<Answer> {
  return sendJson(server.url, action, { QueueUrl: server.queueUrl, ...input });
}

describe('An answer in JSON', () => {
  it('has the content type of AWS and an id of its own', async () => {
    const ids = new Set<string | null>();
    for (const action of ['ListQueues', 'ListQueues', 'NoSuchAction']) {
      const { headers } = await sendJson(server.url, action);
      expect(headers.get('content-type')).toBe('application/x-amz-json-1.0');
      expect(headers.get('x-amzn-requestid')).toMatch(uuid);
      ids.add(headers.get('x-amzn-requestid'));
    }
    expect(ids.size).toBe(3);
  });

  it('is an empty body where an action has nothing to say', async () => {
    const attributes = { Attributes: { DelaySeconds: '0' } };
    const { status, headers, body } = await onQueue('SetQueueAttributes', attributes);
    expect([status, body]).toEqual([200, '']);
    expect(headers.get('content-type')).toBe('application/x-amz-json-1.0');
    expect(headers.get('content-length')).toBe('0');
  });

  it('leaves members without a value out', async () => {
    expect((await onQueue('ReceiveMessage')).body).toBe('{}');
    expect((await onQueue('GetQueueAttributes')).body).toBe('{}');
    const listed = await sendJson(server.url, 'ListQueues', { QueueNamePrefix: 'none' });
    expect(listed.body).toBe('{}');
  });

  it('to a wrong request names the shape of the error, and its older code in a header', async () => {
    const unknown = `${server.url}/000000000000/unknown`;
    const answer = await sendJson(server.url, 'ReceiveMessage', { QueueUrl: unknown });
    expect(jsonError(answer)).toEqual({
      status: 400,
      type: 'com.amazonaws.sqs#QueueDoesNotExist',
      queryError: 'AWS.SimpleQueueService.NonExistentQueue;Sender',
      message: 'The specified queue does not exist.',
    });
  });

  it('names generic errors by the shapes of the framework', async () => {
    expect(jsonError(await onQueue('ReceiveMessage', { MaxNumberOfMessages: 11 }))).toMatchObject({
      type: 'com.amazon.coral.service#InvalidParameterValueException',
      queryError: 'InvalidParameterValue;Sender',
    });
    expect(jsonError(await onQueue('DeleteMessage'))).toMatchObject({
      type: 'com.amazon.coral.service#MissingRequiredParameterException',
      queryError: 'MissingParameter;Sender',
    });
  });

  it('has the status of the error', async () => {
    const answer = await onQueue('DeleteMessage', { ReceiptHandle: 'garbage' });
    expect(jsonError(answer)).toEqual({
      status: 404,
      type: 'com.amazonaws.sqs#ReceiptHandleIsInvalid',
      queryError: 'ReceiptHandleIsInvalid;Sender',
      message: 'The input receipt handle "garbage" is not a valid receipt handle.',
    });
  });
});

describe('An action in JSON', () => {
  const unknownOperation = {
    status: 400,
    type: 'com.amazon.coral.service#UnknownOperationException',
    queryError: 'InvalidAction;Sender',
    message: expect.any(String),
  };

  it.each([
    'NoSuchAction',
    '',
    'sendmessage',
    'constructor',
    '__proto__',
    'SendMessage '.repeat(9),
  ])('is refused by the unknown name %j', async (action) => {
    expect(jsonError(await sendJson(server.url, action))).toEqual(unknownOperation);
  });

  it.each(['SendMessage', 'DynamoDB_20120810.ListTables', 'AmazonSQS', 'amazonsqs.ListQueues'])(
    'is refused with the target %j',
    async (target) => {
      const answer = await sendJson(server.url, '', {}, { 'x-amz-target': target });
      expect(jsonError(answer)).toEqual(unknownOperation);
    },
  );

  it('is refused without a target', async () => {
    const answer = await send(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-amz-json-1.0' },
      body: '{}',
    });
    expect(jsonError(answer)).toEqual(unknownOperation);
  });

  it('may go to any path, and finds its queue by QueueUrl', async () => {
    expect((await sendJson(server.queueUrl, 'ListQueues')).status).toBe(200);
    const other = `${server.url}/000000000000/other`;
    await sendJson(other, 'CreateQueue', { QueueName: 'other' });
    await sendJson(other, 'SendMessage', { QueueUrl: server.queueUrl, MessageBody: 'hello' });
    const onPath = await sendJson(other, 'ReceiveMessage', { QueueUrl: other });
    expect(onPath.body).toBe('{}');
    const { body } = await sendJson(other, 'ReceiveMessage', { QueueUrl: server.queueUrl });
    expect(JSON.parse(body).Messages).toHaveLength(1);
  });

  it('needs a queue', async () => {
    const answer = await sendJson(server.url, 'SendMessage', { MessageBody: 'x' });
    expect(jsonError(answer)).toMatchObject({ type: 'com.amazonaws.sqs#QueueDoesNotExist' });
  });

  it.each([
    'http://elsewhere:1234/000000000000/queue',
    'https://sqs.us-east-1.amazonaws.com/000000000000/queue',
    'https://us-east-1.queue.amazonaws.com/000000000000/queue',
    'https://proxy.example.com/behind/a/prefix/000000000000/queue',
    '/000000000000/queue',
    'queue',
  ])('finds its queue by %s', async (QueueUrl) => {
    expect((await onQueue('ReceiveMessage', { QueueUrl })).status).toBe(200);
  });

  it('is refused at the address of another region', async () => {
    const QueueUrl = 'https://sqs.eu-fake-99.amazonaws.com/000000000000/queue';
    expect(jsonError(await onQueue('ReceiveMessage', { QueueUrl }))).toMatchObject({
      status: 404,
      type: 'com.amazonaws.sqs#InvalidAddress',
    });
  });

  it.each(['', '/', 'http://', 'http://host/queue', 'http://host/000000000000/', '//', ':'])(
    'finds no queue by the URL %j',
    async (QueueUrl) => {
      expect(jsonError(await onQueue('ReceiveMessage', { QueueUrl }))).toMatchObject({
        type: 'com.amazonaws.sqs#QueueDoesNotExist',
      });
    },
  );

  it('takes a trace id from the header of a request', async () => {
    const trace = 'Root=1-5759e988-bd862e3fe1be46a994272793';
    const sent = await sendJson(
      server.url,
      'SendMessage',
      { QueueUrl: server.queueUrl, MessageBody: 'traced' },
      { 'x-amzn-trace-id': trace },
    );
    expect(JSON.parse(sent.body)).not.toHaveProperty('MD5OfMessageSystemAttributes');
    const { body } = await onQueue('ReceiveMessage', { AttributeNames: ['AWSTraceHeader'] });
    expect(JSON.parse(body).Messages[0].Attributes).toEqual({ AWSTraceHeader: trace });
  });

  it('answers system attributes that either list of names asks for', async () => {
    await onQueue('SendMessage', { MessageBody: 'x' });
    const { body } = await onQueue('ReceiveMessage', {
      AttributeNames: ['SenderId'],
      MessageSystemAttributeNames: ['SentTimestamp'],
    });
    const [message] = JSON.parse(body).Messages;
    expect(Object.keys(message.Attributes).toSorted()).toEqual(['SenderId', 'SentTimestamp']);
  });
});

describe('A body in JSON', () => {
  it.each(['{', '{"QueueUrl"}', '{"a":1}x', "{'a':1}", '<a/>', 'Action=ListQueues', '\u{0}'])(
    'is refused when it is malformed: %j',
    async (body) => {
      expect(jsonError(await sendJson(server.url, 'ListQueues', body))).toEqual(malformed());
    },
  );

  it.each(['[]', '[{}]', '"text"', '5', 'true', 'null'])(
    'is refused when it is no object: %s',
    async (body) => {
      expect(jsonError(await sendJson(server.url, 'ListQueues', body))).toEqual(malformed());
    },
  );

  it.each([
    ['SendMessage', { MessageBody: ['x'] }, 'Start of list found where not expected'],
    [
      'SendMessage',
      { MessageBody: { a: 1 } },
      'Start of structure or map found where not expected.',
    ],
    [
      'SendMessage',
      { MessageBody: 'x', DelaySeconds: 'abc' },
      'STRING_VALUE can not be converted to an Integer',
    ],
    [
      'SendMessage',
      { MessageBody: 'x', DelaySeconds: true },
      'TRUE_VALUE can not be converted to an Integer',
    ],
    [
      'ReceiveMessage',
      { MaxNumberOfMessages: {} },
      'Start of structure or map found where not expected.',
    ],
    ['ReceiveMessage', { MaxNumberOfMessages: [] }, 'Start of list found where not expected'],
    ['ReceiveMessage', { AttributeNames: 'All' }, 'Expected list or null'],
    ['ReceiveMessage', { AttributeNames: [{}] }, expect.any(String)],
    ['SendMessageBatch', { Entries: { Id: 'a' } }, expect.any(String)],
    ['SendMessageBatch', { Entries: ['a'] }, expect.any(String)],
    ['SendMessageBatch', { Entries: [{ Id: 'a', MessageBody: [] }] }, expect.any(String)],
    ['SetQueueAttributes', { Attributes: ['DelaySeconds'] }, expect.any(String)],
    ['SetQueueAttributes', { Attributes: { DelaySeconds: { a: 1 } } }, expect.any(String)],
    ['SendMessage', { MessageBody: 'x', MessageAttributes: { a: 'x' } }, expect.any(String)],
  ])('of %s is refused when a value is of the wrong kind: %j', async (action, input, message) => {
    expect(jsonError(await onQueue(action, input))).toEqual(malformed(message));
  });

  it('may hold numbers as text, fractions, nulls and members that nobody knows', async () => {
    const { status } = await onQueue('SendMessage', {
      MessageBody: 'lenient',
      DelaySeconds: '0',
      MessageAttributes: null,
      MessageGroupId: null,
      Colour: { blue: [1] },
    });
    expect(status).toBe(200);
    const received = await onQueue('ReceiveMessage', {
      MaxNumberOfMessages: 1.9,
      AttributeNames: [null, 'SenderId'],
    });
    const [message, ...others] = JSON.parse(received.body).Messages;
    expect([message.Body, others]).toEqual(['lenient', []]);
    expect(Object.keys(message.Attributes)).toEqual(['SenderId']);
  });

  it('may write characters as escapes, but no half of a surrogate pair', async () => {
    const input = (text: string) => `{"QueueUrl":"${server.queueUrl}","MessageBody":"${text}"}`;
    await sendJson(server.url, 'SendMessage', input('\\ud834\\udd1e\\u20AC'));
    const { body } = await onQueue('ReceiveMessage');
    expect(JSON.parse(body).Messages[0].Body).toBe('𝄞€');
    for (const half of ['\\ud834', 'a\\udd1eb', '\\udd1e\\ud834']) {
      expect(jsonError(await sendJson(server.url, 'SendMessage', input(half)))).toMatchObject({
        status: 400,
        type: 'com.amazonaws.sqs#InvalidMessageContents',
      });
    }
  });

  it('may write a message of 1 MiB all in escapes', async () => {
    const input = `{"QueueUrl":"${server.queueUrl}","MessageBody":"${'\\u0041'.repeat(1_048_576)}"}`;
    expect((await sendJson(server.url, 'SendMessage', input)).status).toBe(200);
    const { body } = await onQueue('ReceiveMessage');
    expect(JSON.parse(body).Messages[0].Body).toBe('A'.repeat(1_048_576));
  });

  it('is refused when it is larger than any valid request', async () => {
    const body = JSON.stringify({ MessageBody: 'x'.repeat(8 * 1024 * 1024) });
    expect(jsonError(await sendJson(server.url, 'SendMessage', body))).toMatchObject({
      status: 413,
      queryError: expect.stringMatching(/;Sender$/),
    });
    expect((await sendJson(server.url, 'ListQueues')).status).toBe(200);
  });

  it.each([
    ['ReceiveMessage', { MessageAttributeNames: Array(10_001).fill('a') }],
    ['GetQueueAttributes', { AttributeNames: Array(10_001).fill('All') }],
    [
      'CreateQueue',
      { QueueName: 'many', tags: Object.fromEntries(Array(10_001).fill('').entries()) },
    ],
  ])('of %s is refused when a list or map has members without end', async (action, input) => {
    expect(jsonError(await onQueue(action, input))).toEqual(
      malformed('A list or map may have 10000 members.'),
    );
  });

  it('may hold names that JavaScript objects have already', async () => {
    const Attributes = JSON.parse('{"__proto__":"1","constructor":"1"}');
    expect(jsonError(await onQueue('SetQueueAttributes', { Attributes }))).toMatchObject({
      type: 'com.amazonaws.sqs#InvalidAttributeName',
    });
    const MessageAttributes = JSON.parse('{"__proto__":{"DataType":"String","StringValue":"v"}}');
    await onQueue('SendMessage', { MessageBody: 'x', MessageAttributes });
    const { body } = await onQueue('ReceiveMessage', { MessageAttributeNames: ['All'] });
    expect(body).toContain('"__proto__":{"DataType":"String","StringValue":"v"}');
  });

  it.each([
    ['GetQueueUrl', { QueueName: 'queue', QueueOwnerAWSAccountId: '\u{0}' }],
    ['ListQueues', { QueueNamePrefix: '\u{0}' }],
    ['ListQueues', { MaxResults: 1, NextToken: 'AA==' }],
    ['ReceiveMessage', { QueueUrl: 'queue\u{0}' }],
    ['DeleteMessage', { ReceiptHandle: '\u{0}' }],
    ['DeleteMessageBatch', { Entries: [{ Id: 'a', ReceiptHandle: '\u{0}' }] }],
    ['ChangeMessageVisibility', { ReceiptHandle: '\u{0}', VisibilityTimeout: 1 }],
    [
      'ChangeMessageVisibilityBatch',
      { Entries: [{ Id: 'a', ReceiptHandle: '\u{0}', VisibilityTimeout: 1 }] },
    ],
    ['CreateQueue', { QueueName: 'zero', Attributes: { KmsMasterKeyId: '\u{0}' } }],
    ['SetQueueAttributes', { Attributes: { KmsMasterKeyId: 'a\u{0}b' } }],
    ['SetQueueAttributes', { Attributes: { Policy: '{"a":"\\u0000"}' } }],
    ['CreateQueue', { QueueName: 'zero', tags: { a: '\u{0}' } }],
    ['ReceiveMessage', { MessageAttributeNames: ['\u{0}'], AttributeNames: ['\u{0}'] }],
  ])('of %s with a NUL is no failure of the server: %j', async (action, input) => {
    const { status } = await onQueue(action, input);
    expect(status).toBeLessThan(500);
  });
});
