import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { element, send, sendForm, sendJson, useQueue, xmlError } from './requests.ts';

const server = useQueue();
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const namespace = 'http://queue.amazonaws.com/doc/2012-11-05/';

const invalidAction = (action: string) => ({
  status: 400,
  code: 'InvalidAction',
  message: `The action ${action} is not valid for this endpoint.`,
});

const missingQueue = {
  status: 400,
  code: 'AWS.SimpleQueueService.NonExistentQueue',
  message: 'The specified queue does not exist for this wsdl version.',
};

/** The parameters as a query string behind a URL. */
const queried = (url: string, parameters: Record<string, string>) =>
  `${url}?${new URLSearchParams(parameters)}`;

describe('An answer in XML', () => {
  it('holds the result and the id of the request', async () => {
    const { status, headers, body } = await sendForm(server.url, {
      Action: 'GetQueueUrl',
      QueueName: 'queue',
    });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/xml');
    const id = headers.get('x-amzn-requestid');
    expect(id).toMatch(uuid);
    expect(body).toBe(
      `<?xml version="1.0"?><GetQueueUrlResponse xmlns="${namespace}"><GetQueueUrlResult><QueueUrl>${server.queueUrl}</QueueUrl></GetQueueUrlResult><ResponseMetadata><RequestId>${id}</RequestId></ResponseMetadata></GetQueueUrlResponse>`,
    );
  });

  it('has no result where an action has nothing to say', async () => {
    const { headers, body } = await sendForm(server.queueUrl, {
      Action: 'SetQueueAttributes',
      'Attribute.Name': 'DelaySeconds',
      'Attribute.Value': '0',
    });
    const id = headers.get('x-amzn-requestid');
    expect(body).toBe(
      `<?xml version="1.0"?><SetQueueAttributesResponse xmlns="${namespace}"><ResponseMetadata><RequestId>${id}</RequestId></ResponseMetadata></SetQueueAttributesResponse>`,
    );
  });

  it('has an empty result where nothing was found', async () => {
    const { body } = await sendForm(server.queueUrl, { Action: 'ReceiveMessage' });
    expect(body).toContain('<ReceiveMessageResult/>');
  });

  it('writes attributes as names and values', async () => {
    const { body } = await sendForm(server.queueUrl, {
      Action: 'GetQueueAttributes',
      'AttributeName.1': 'QueueArn',
    });
    expect(body).toContain(
      '<GetQueueAttributesResult><Attribute><Name>QueueArn</Name><Value>arn:aws:sqs:us-east-1:000000000000:queue</Value></Attribute></GetQueueAttributesResult>',
    );
  });

  it('writes message attributes flat, each with its value', async () => {
    await sendForm(server.queueUrl, {
      Action: 'SendMessage',
      MessageBody: 'x',
      'MessageAttribute.1.Name': 'a',
      'MessageAttribute.1.Value.DataType': 'String',
      'MessageAttribute.1.Value.StringValue': 'v',
      'MessageAttribute.2.Name': 'b',
      'MessageAttribute.2.Value.DataType': 'Binary',
      'MessageAttribute.2.Value.BinaryValue': 'AQID',
    });
    const { body } = await sendForm(server.queueUrl, {
      Action: 'ReceiveMessage',
      'MessageAttributeName.1': 'All',
    });
    expect(body).toContain(
      '<MessageAttribute><Name>a</Name><Value><StringValue>v</StringValue><DataType>String</DataType></Value></MessageAttribute>',
    );
    expect(body).toContain(
      '<MessageAttribute><Name>b</Name><Value><BinaryValue>AQID</BinaryValue><DataType>Binary</DataType></Value></MessageAttribute>',
    );
  });

  it('to a wrong request tells type, code, message and id', async () => {
    const { status, headers, body } = await sendForm(server.url, {
      Action: 'ReceiveMessage',
      QueueUrl: `${server.url}/000000000000/unknown`,
    });
    const id = headers.get('x-amzn-requestid');
    expect(id).toMatch(uuid);
    expect([status, headers.get('content-type')]).toEqual([400, 'text/xml']);
    expect(body).toBe(
      `<?xml version="1.0"?><ErrorResponse xmlns="${namespace}"><Error><Type>Sender</Type><Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does not exist for this wsdl version.</Message><Detail/></Error><RequestId>${id}</RequestId></ErrorResponse>`,
    );
  });

  it('has the status of the error', async () => {
    const answer = await sendForm(server.queueUrl, {
      Action: 'DeleteMessage',
      ReceiptHandle: 'garbage',
    });
    expect(xmlError(answer)).toMatchObject({ status: 404, code: 'ReceiptHandleIsInvalid' });
  });

  it('writes markup as references, and a carriage return too', async () => {
    await sendForm(server.queueUrl, { Action: 'SendMessage', MessageBody: 'a\r\n<b>&amp;\t]]>' });
    const { body } = await sendForm(server.queueUrl, { Action: 'ReceiveMessage' });
    expect(body).toContain('<Body>a&#13;\n&lt;b&gt;&amp;amp;\t]]&gt;</Body>');
  });

  it('keeps white space at the ends of a text', async () => {
    await sendForm(server.queueUrl, { Action: 'SendMessage', MessageBody: ' \n x \n ' });
    const { body } = await sendForm(server.queueUrl, { Action: 'ReceiveMessage' });
    expect(body).toContain('<Body> \n x \n </Body>');
  });

  it('holds no character that XML forbids, even where it repeats the request', async () => {
    const answers = await Promise.all([
      sendForm(server.queueUrl, { Action: 'DeleteMessage', ReceiptHandle: 'a\u{1}b\u{FFFE}' }),
      sendForm(server.queueUrl, {
        Action: 'SendMessage',
        MessageBody: 'x',
        MessageGroupId: '\u{1F}',
      }),
      sendForm(server.queueUrl, { Action: 'Send\u{0}Message' }),
    ]);
    for (const { status, body } of answers) {
      expect(status).toBeLessThan(500);
      expect(body).toMatch(/^[\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]*$/u);
    }
  });
});

describe('An action in a form', () => {
  it.each(['FooBar', 'constructor', 'sendmessage'])(
    'is refused by the unknown name %s, on any path',
    async (Action) => {
      for (const url of [server.url, server.queueUrl, `${server.url}/any/where`]) {
        expect(xmlError(await sendForm(url, { Action }))).toEqual(invalidAction(Action));
      }
    },
  );

  it.each(['ListQueues', 'CreateQueue'])(
    'is not taken on the path of a queue: %s',
    async (Action) => {
      const parameters = { Action, QueueName: 'new' };
      expect(xmlError(await sendForm(server.queueUrl, parameters))).toEqual(invalidAction(Action));
      expect((await sendForm(server.url, parameters)).status).toBe(200);
    },
  );

  it('may look another queue up on the path of a queue', async () => {
    await sendForm(server.url, { Action: 'CreateQueue', QueueName: 'other' });
    const answer = await sendForm(server.queueUrl, { Action: 'GetQueueUrl', QueueName: 'other' });
    expect(element(answer.body, 'QueueUrl')).toBe(`${server.url}/000000000000/other`);
  });

  it('has a question mark in a parameter like any other character', async () => {
    const { body } = await send(
      `${server.queueUrl}?Action=SendMessage&MessageBody=a?b&DelaySeconds=1`,
    );
    const md5 = createHash('md5').update('a?b').digest('hex');
    expect(element(body, 'MD5OfMessageBody')).toBe(md5);
  });

  it('is answered with 404 when it has no name', async () => {
    const answers = await Promise.all([
      send(server.url),
      send(server.queueUrl),
      send(`${server.queueUrl}?Action=`),
      sendForm(server.url, { QueueName: 'queue' }),
      sendForm(server.url, {}),
      send(server.url, { method: 'POST' }),
    ]);
    for (const { status, body } of answers) {
      expect([status, body]).toEqual([404, '<UnknownOperationException/>']);
    }
  });

  it('may come with GET', async () => {
    const sent = await send(
      queried(server.queueUrl, { Action: 'SendMessage', MessageBody: 'by GET & more' }),
    );
    expect(sent.status).toBe(200);
    const { body } = await send(queried(server.queueUrl, { Action: 'ReceiveMessage' }));
    expect(element(body, 'Body')).toBe('by GET &amp; more');
  });

  it('may come with GET to delete a queue', async () => {
    await sendForm(server.url, { Action: 'CreateQueue', QueueName: 'doomed' });
    const url = `${server.url}/000000000000/doomed`;
    expect((await send(queried(url, { Action: 'DeleteQueue' }))).body).toContain(
      '<DeleteQueueResponse ',
    );
    expect(xmlError(await send(queried(url, { Action: 'ReceiveMessage' })))).toEqual(missingQueue);
  });

  it('may be named in the query string of a POST', async () => {
    const url = queried(server.queueUrl, { Action: 'SendMessage' });
    expect((await sendForm(url, { MessageBody: 'x' })).status).toBe(200);
    const { body } = await sendForm(server.queueUrl, { Action: 'ReceiveMessage' });
    expect(element(body, 'Body')).toBe('x');
  });

  it('may come with any version and unknown parameters', async () => {
    const { status } = await sendForm(server.queueUrl, {
      Action: 'ReceiveMessage',
      Version: '2012-11-05',
      'X-Amz-Date': 'now',
      'a.b.c.d.e.f.g.h.i.j.k': 'deep',
      '.': 'x',
      '': 'y',
    });
    expect(status).toBe(200);
  });

  it('goes to the queue of QueueUrl before that of the path', async () => {
    await sendForm(server.url, { Action: 'CreateQueue', QueueName: 'there' });
    const there = `${server.url}/000000000000/there`;
    await sendForm(server.queueUrl, { Action: 'SendMessage', QueueUrl: there, MessageBody: 'x' });
    const here = await sendForm(server.queueUrl, { Action: 'ReceiveMessage' });
    expect(here.body).not.toContain('<Body>');
    const { body } = await sendForm(there, { Action: 'ReceiveMessage' });
    expect(element(body, 'Body')).toBe('x');
    expect(
      xmlError(
        await sendForm(server.queueUrl, {
          Action: 'ReceiveMessage',
          QueueUrl: `${server.url}/000000000000/unknown`,
        }),
      ),
    ).toEqual(missingQueue);
  });

  it('needs a queue', async () => {
    const answer = await sendForm(server.url, { Action: 'SendMessage', MessageBody: 'x' });
    expect(xmlError(answer)).toEqual(missingQueue);
  });

  it('takes a trace id from the header of a request', async () => {
    const trace = 'Root=1-5759e988-bd862e3fe1be46a994272793';
    const parameters = { Action: 'SendMessage', MessageBody: 'traced' };
    const sent = await sendForm(server.queueUrl, parameters, { 'x-amzn-trace-id': trace });
    expect(sent.body).not.toContain('MD5OfMessageSystemAttributes');
    const { body } = await sendForm(server.queueUrl, {
      Action: 'ReceiveMessage',
      'AttributeName.1': 'All',
    });
    expect(body).toContain(`<Name>AWSTraceHeader</Name><Value>${trace}</Value>`);
  });

  it('asked for system attributes under both names answers those of the older one', async () => {
    await sendForm(server.queueUrl, { Action: 'SendMessage', MessageBody: 'x' });
    const { body } = await sendForm(server.queueUrl, {
      Action: 'ReceiveMessage',
      'MessageSystemAttributeName.1': 'All',
      'AttributeName.1': 'SenderId',
    });
    expect(body.match(/<Attribute><Name>\w+/g)).toEqual(['<Attribute><Name>SenderId']);
  });
});

describe('Parameters of a form', () => {
  // Every message here is received by the test that sent it, and hidden from the others.
  beforeEach(async () => {
    await sendForm(server.queueUrl, { Action: 'SendMessage', MessageBody: 'x' });
  });

  it.each(['abc', '', '1.5', '99999999999', '0x1'])(
    'are refused when a number is none: %j',
    async (MaxNumberOfMessages) => {
      const answer = await sendForm(server.queueUrl, {
        Action: 'ReceiveMessage',
        MaxNumberOfMessages,
      });
      expect(answer.status).toBe(400);
      expect(xmlError(answer).code).toMatch(/^(MalformedInput|InvalidParameterValue)$/);
    },
  );

  it('hold a list in the order of its numbers, which may have gaps', async () => {
    const { body } = await sendForm(server.queueUrl, {
      Action: 'SendMessageBatch',
      'SendMessageBatchRequestEntry.12.Id': 'third',
      'SendMessageBatchRequestEntry.12.MessageBody': '3',
      'SendMessageBatchRequestEntry.9.Id': 'second',
      'SendMessageBatchRequestEntry.9.MessageBody': '2',
      'SendMessageBatchRequestEntry.1.Id': 'first',
      'SendMessageBatchRequestEntry.1.MessageBody': '1',
    });
    expect([...body.matchAll(/<Id>(\w+)<\/Id>/g)].map(([, id]) => id)).toEqual([
      'first',
      'second',
      'third',
    ]);
  });

  it.each(['AttributeName', 'AttributeName.1'])(
    'may name the one item of a list by %s',
    async (name) => {
      const { body } = await sendForm(server.queueUrl, {
        Action: 'GetQueueAttributes',
        [name]: 'QueueArn',
      });
      expect(element(body, 'Name')).toBe('QueueArn');
    },
  );

  it('hold an empty list in the name of the list alone', async () => {
    const attributes = await sendForm(server.queueUrl, {
      Action: 'GetQueueAttributes',
      AttributeName: '',
    });
    expect(attributes.status).toBe(200);
    expect(attributes.body).toContain('<GetQueueAttributesResult/>');
    const batch = await sendForm(server.queueUrl, {
      Action: 'SendMessageBatch',
      SendMessageBatchRequestEntry: '',
    });
    expect(xmlError(batch).code).toBe('AWS.SimpleQueueService.EmptyBatchRequest');
  });

  it.each([
    ['a percent sign alone', 'Action=SendMessage&MessageBody=100%'],
    ['an escape that is none', 'Action=SendMessage&MessageBody=%zz'],
    ['bytes that are no UTF-8', 'Action=SendMessage&MessageBody=%ff%fe'],
  ])('may hold %s', async (_what, body) => {
    const { status } = await send(server.queueUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body,
    });
    expect(status).toBe(200);
  });

  it('take a plus sign for a space', async () => {
    const { body } = await send(server.queueUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: 'Action=SendMessage&MessageBody=a+b%2Bc',
    });
    // The checksum of "a b+c".
    expect(element(body, 'MD5OfMessageBody')).toBe('96d80e8112312bb9da906a9e813dbe1b');
  });

  it('are refused when there is no end of them', async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => [`AttributeName.${index}`, 'All']);
    const answer = await sendForm(server.queueUrl, {
      Action: 'GetQueueAttributes',
      ...Object.fromEntries(names),
    });
    expect(xmlError(answer)).toEqual({
      status: 400,
      code: 'MalformedInput',
      message: 'A request may have 10000 parameters.',
    });
  });

  it('are refused when they are larger than any valid request', async () => {
    const answer = await sendForm(server.queueUrl, {
      Action: 'SendMessage',
      MessageBody: 'x'.repeat(8 * 1024 * 1024),
    });
    expect(answer.status).toBe(413);
    expect(element(answer.body, 'Type')).toBe('Sender');
  });
});

it('answers both protocols from the same queue', async () => {
  const queueUrl = `${server.url}/000000000000/shared`;
  await sendForm(server.url, { Action: 'CreateQueue', QueueName: 'shared' });
  await sendForm(queueUrl, { Action: 'SendMessage', MessageBody: 'from a form' });
  const received = await sendJson(server.url, 'ReceiveMessage', { QueueUrl: queueUrl });
  const [message] = JSON.parse(received.body).Messages;
  expect(message.Body).toBe('from a form');
  const { ReceiptHandle } = message;
  expect((await sendForm(queueUrl, { Action: 'DeleteMessage', ReceiptHandle })).status).toBe(200);
});

describe('A client that accepts JSON', () => {
  const accept = { headers: { accept: 'application/json' } };

  async function ask(url: string, parameters: Record<string, string>) {
    const { status, headers, body } = await send(queried(url, parameters), accept);
    expect(headers.get('content-type')).toBe('application/json');
    return { status, body: JSON.parse(body) };
  }

  it('gets the answers of the Query protocol in it', async () => {
    const { status, body } = await ask(server.url, { Action: 'GetQueueUrl', QueueName: 'queue' });
    expect(status).toBe(200);
    expect(body).toEqual({
      GetQueueUrlResponse: {
        GetQueueUrlResult: { QueueUrl: server.queueUrl },
        ResponseMetadata: { RequestId: expect.stringMatching(uuid) },
      },
    });
  });

  it('gets messages and attributes as lists', async () => {
    await sendForm(server.url, { Action: 'CreateQueue', QueueName: 'listed' });
    const url = `${server.url}/000000000000/listed`;
    await sendForm(url, { Action: 'SendMessage', MessageBody: 'x' });
    const received = await ask(url, { Action: 'ReceiveMessage' });
    expect(received.body.ReceiveMessageResponse.ReceiveMessageResult.messages).toMatchObject([
      { Body: 'x' },
    ]);
    const asked = await ask(url, { Action: 'GetQueueAttributes', 'AttributeName.1': 'QueueArn' });
    expect(asked.body.GetQueueAttributesResponse.GetQueueAttributesResult.Attributes).toEqual([
      { Name: 'QueueArn', Value: 'arn:aws:sqs:us-east-1:000000000000:listed' },
    ]);
  });

  it('gets errors in it', async () => {
    const { status, body } = await ask(server.queueUrl, { Action: 'ListQueues' });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      Error: {
        Code: 'InvalidAction',
        Message: 'The action ListQueues is not valid for this endpoint.',
      },
    });
  });

  it('gets XML all the same when it names no action', async () => {
    const { status, body } = await send(server.url, accept);
    expect([status, body]).toEqual([404, '<UnknownOperationException/>']);
  });
});
