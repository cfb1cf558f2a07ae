import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';
import { call, createQueue, receive, type SqlSent } from './door.ts';
import { errorOfSqlState } from './sqlstates.ts';

/** The two doors check messages in two languages; this table holds them to one answer. */

const database = useDatabase();
const { pool } = database;
const server = useServer(database);

interface Attribute {
  DataType?: unknown;
  StringValue?: unknown;
  BinaryValue?: unknown;
  StringListValues?: unknown;
}

interface Input {
  MessageBody?: string;
  DelaySeconds?: number;
  MessageAttributes?: Record<string, Attribute | null>;
  TraceHeader?: string;
  MessageGroupId?: string;
  MessageDeduplicationId?: string;
}

type Outcome = { error: string; message: string } | { sent: Record<string, string | null> };

async function sendOverHttp(queueName: string, { TraceHeader, ...input }: Input): Promise<Outcome> {
  const response = await fetch(server.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'AmazonSQS.SendMessage',
    },
    body: JSON.stringify({
      QueueUrl: `${server.url}/000000000000/${queueName}`,
      ...input,
      ...(TraceHeader !== undefined && {
        MessageSystemAttributes: {
          AWSTraceHeader: { DataType: 'String', StringValue: TraceHeader },
        },
      }),
    }),
  });
  const answer = (await response.json()) as Record<string, string>;
  return response.ok
    ? {
        sent: {
          body: answer['MD5OfMessageBody'] ?? null,
          attributes: answer['MD5OfMessageAttributes'] ?? null,
        },
      }
    : { error: String(answer['__type']).replace(/^.*#/, ''), message: String(answer['message']) };
}

async function sendBySql(queueName: string, input: Input): Promise<Outcome> {
  const given = {
    queue_name: queueName,
    message_body: input.MessageBody ?? null,
    delay: input.DelaySeconds === undefined ? undefined : `${input.DelaySeconds} seconds`,
    message_attributes: input.MessageAttributes && JSON.stringify(input.MessageAttributes),
    message_group_id: input.MessageGroupId,
    message_deduplication_id: input.MessageDeduplicationId,
    trace_header: input.TraceHeader,
  };
  try {
    const [sent] = await call<SqlSent>(pool, 'send_message', given);
    return {
      sent: {
        body: sent?.md5_of_message_body ?? null,
        attributes: sent?.md5_of_message_attributes ?? null,
      },
    };
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { error: (await errorOfSqlState(code)).type, message };
  }
}

const text = (StringValue: unknown) => ({ DataType: 'String', StringValue });
const number = (StringValue: unknown) => ({ DataType: 'Number', StringValue });
const binary = (BinaryValue: unknown) => ({ DataType: 'Binary', BinaryValue });
const attribute = (value: Attribute | null, name = 'name'): Input => ({
  MessageBody: 'x',
  MessageAttributes: { [name]: value },
});

const forbidden = ['\u{1}', '\u{8}', '\u{B}', '\u{C}', '\u{E}', '\u{1F}', '\u{FFFE}', '\u{FFFF}'];
const allowed = '\t\n\r \u{7F}\u{80}\u{9F}\u{D7FF}\u{E000}\u{FFFD}\u{10000}\u{10FFFF}';

const forStandard: Input[] = [
  { MessageBody: 'x' },
  {},
  { MessageBody: '' },
  { MessageBody: allowed },
  ...forbidden.map((character) => ({ MessageBody: `a${character}b` })),
  { MessageBody: 'x', DelaySeconds: 0 },
  { MessageBody: 'x', DelaySeconds: 900 },
  { MessageBody: 'x', DelaySeconds: 901 },
  { MessageBody: 'x', DelaySeconds: -1 },
  { MessageBody: 'x', MessageDeduplicationId: 'd' },
  { MessageBody: 'x', MessageDeduplicationId: '' },
  ...['g', '!~', 'a'.repeat(128), 'a'.repeat(129), '', 'a b', 'é', 'a\n'].map(
    (MessageGroupId): Input => ({ MessageBody: 'x', MessageGroupId }),
  ),
  ...['Root=1', '', 'a\u{1}b', allowed].map(
    (TraceHeader): Input => ({ MessageBody: 'x', TraceHeader }),
  ),
  { MessageBody: 'x'.repeat(1_048_576) },
  { MessageBody: 'x'.repeat(1_048_577) },
  { MessageBody: '€'.repeat(349_526) },
];

const forFifo: Input[] = [
  { MessageBody: 'x', MessageGroupId: 'g', MessageDeduplicationId: 'd' },
  { MessageBody: 'x', MessageDeduplicationId: 'e' },
  { MessageBody: 'x', MessageGroupId: 'g' },
  { MessageBody: '', MessageGroupId: 'g', MessageDeduplicationId: 'd' },
  { MessageBody: 'x', MessageGroupId: '', MessageDeduplicationId: 'd' },
  { MessageBody: 'x', MessageGroupId: 'a b', MessageDeduplicationId: 'd' },
  ...['!~', 'a'.repeat(128), 'a'.repeat(129), '', 'a b', 'é'].map(
    (MessageDeduplicationId): Input => ({
      MessageBody: 'x',
      MessageGroupId: 'g',
      MessageDeduplicationId,
    }),
  ),
  { MessageBody: 'x', MessageGroupId: 'g', MessageDeduplicationId: 'f', DelaySeconds: 0 },
  { MessageBody: 'x', MessageGroupId: 'g', MessageDeduplicationId: 'g', DelaySeconds: 5 },
];

const forAttributes: Input[] = [
  { MessageBody: 'x', MessageAttributes: {} },
  attribute(text('value')),
  attribute(null),
  attribute({}),
  attribute(text('')),
  attribute(text(null)),
  attribute(text(allowed)),
  ...forbidden.map((character) => attribute(text(character))),
  attribute({ DataType: 'String' }),
  attribute({ DataType: '', StringValue: 'x' }),
  attribute({ StringValue: 'x' }),
  attribute({ BinaryValue: 'AAAA' }),
  attribute({ DataType: 'String', BinaryValue: 'AAAA' }),
  attribute({ DataType: 'Binary', StringValue: 'AAAA' }),
  attribute({ DataType: 'Binary', StringValue: 'x', BinaryValue: 'AAAA' }),
  attribute({ DataType: 'String', StringValue: 'x', BinaryValue: 'AAAA' }),
  attribute({ DataType: 'String', StringValue: 'x', BinaryValue: null }),
  attribute({ DataType: 'String', StringListValues: ['x'] }),
  ...['Other', 'string', 'Strings', 'String.', 'String.json', 'Number.int', 'Binary.png', ' String']
    .concat('String.a\nb', `String.${'x'.repeat(249)}`, `String.${'x'.repeat(250)}`, 'String.\u{1}')
    .map((DataType) =>
      attribute(
        DataType.startsWith('Binary')
          ? { DataType, BinaryValue: 'AAAA' }
          : { DataType, StringValue: '1' },
      ),
    ),
  ...['0', '-1', '+1', '1.', '.5', '1.50', '1e5', '1E-5', '-0.0', '1e127', '9'.repeat(38)]
    .concat('', ' 1', '1 ', '1,5', '0x10', '1e', 'e5', '.', '-', '1e128', '-1e128', '9e127')
    .concat('9'.repeat(39), `${'9'.repeat(38)}0`, `000${'9'.repeat(38)}`, 'NaN', 'Infinity')
    .concat(`0.${'0'.repeat(20_000)}`, `0.${'0'.repeat(20_000)}1`, `0.${'0'.repeat(20_000)}1e20128`)
    .concat(`0.${'0'.repeat(20_000)}1e20129`, '0'.repeat(20_000), `1${'0'.repeat(37)}e90`, '10e127')
    .concat(
      '1e-99999',
      '1e99999',
      '0e99999',
      '1e00005',
      `0e${'9'.repeat(400)}`,
      `1e${'9'.repeat(400)}`,
    )
    .concat(
      `1e-${'9'.repeat(400)}`,
      `1e${'0'.repeat(400)}1`,
      '0.1e128',
      '0.1e129',
      '00.01e+129',
      `${'9'.repeat(38)}e90`,
    )
    .concat('1e9999', '1e-128', '1e-9999', '٣', '1_000', `0.${'0'.repeat(50)}1`, '1\n')
    .map((value) => attribute(number(value))),
  ...['AAAA', 'AA==', 'AAA=', '', 'AA+/'].map((value) => attribute(binary(value))),
  ...['a', 'a.b', 'a-b_c', 'Ä', 'ſ', '×', 'ƀ', 'a b', 'a/b', '', '.a', 'a.', 'a..b', 'aws.a']
    .concat('AWS.a', 'amazon.a', 'Amazon.a', 'awsa', 'amazona', 'aws', 'a\n', '€')
    .concat('n'.repeat(256), 'n'.repeat(257), 'ä'.repeat(256))
    .map((name) => attribute(text('x'), name)),
  ...[10, 11].map((count) => ({
    MessageBody: 'x',
    MessageAttributes: Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`n${index}`, text('x')]),
    ),
  })),
];

/** A delay is an interval in SQL, so its value and its limit are worded as such. */
const isAboutDelay = /^Value \S+ for parameter DelaySeconds is invalid\. Reason: DelaySeconds must/;

function compared(outcome: Outcome): Outcome {
  return 'error' in outcome && isAboutDelay.test(outcome.message)
    ? { error: outcome.error, message: 'the delay' }
    : outcome;
}

function brief(input: Input): string {
  const shown = JSON.stringify(input);
  return shown.length > 120 ? `${shown.slice(0, 120)}… (${shown.length})` : shown;
}

it.each([
  ['on a standard queue', {}, forStandard],
  ['on a FIFO queue', { FifoQueue: true }, forFifo],
  ['of attributes', {}, forAttributes],
])('both doors say the same to every message %s', async (_what, queue, inputs) => {
  const answers: Record<string, unknown>[] = [];
  const expected: Record<string, unknown>[] = [];
  const queueName = await createQueue(pool, queue);
  for (const input of inputs) {
    expected.push({ input: brief(input), ...compared(await sendOverHttp(queueName, input)) });
    answers.push({ input: brief(input), ...compared(await sendBySql(queueName, input)) });
  }
  expect(answers).toEqual(expected);
  // Something was taken and something refused, or the table tests nothing.
  expect(expected.some((outcome) => 'sent' in outcome)).toBe(true);
  expect(expected.some((outcome) => 'error' in outcome)).toBe(true);
});

it.each([
  // Over HTTP a matter of the wire format (MalformedInput), in SQL of the value.
  ['malformed base64', binary('AA=A'), /is not valid base64/],
  ['base64 without padding', binary('AAA'), /is not valid base64/],
  ['a number in place of a text', text(12), /must be strings/],
  ['an object in place of a text', text({ a: 1 }), /must be strings/],
  ['a field that it does not know', { ...text('x'), Stringvalue: 'x' }, /can only have the fields/],
  ['a text in place of an attribute', 'x', /must be a JSON object/],
  ['a list in place of an attribute', ['StringValue'], /must be a JSON object/],
])('SQL refuses %s in an attribute', async (_what, value, message) => {
  const queueName = await createQueue(pool);
  const outcome = await sendBySql(queueName, attribute(value as Attribute));
  expect(outcome).toEqual({
    error: 'InvalidParameterValueException',
    message: expect.stringMatching(message),
  });
});

it.each(['[]', '"text"', '1'])('SQL refuses %s in place of attributes', async (attributes) => {
  const queueName = await createQueue(pool);
  const sending = call(pool, 'send_message', {
    queue_name: queueName,
    message_body: 'x',
    message_attributes: attributes,
  });
  await expect(sending).rejects.toMatchObject({ code: 'TQ012' });
});

it('a visibility timeout that is null is a missing parameter, not zero', async () => {
  const queueName = await createQueue(pool);
  await call(pool, 'send_message', { queue_name: queueName, message_body: 'x' });
  const [message] = await call<{ receipt_handle: string }>(pool, 'receive_message', {
    queue_name: queueName,
  });
  const change = call(pool, 'change_message_visibility', {
    queue_name: queueName,
    receipt_handle: message?.receipt_handle,
    visibility_timeout: null,
  });
  await expect(change).rejects.toMatchObject({
    code: 'TQ013',
    message: 'The request must contain the parameter VisibilityTimeout.',
  });
});

it.each([[null], [[null, null]], [['a', null]]])(
  'send_message_batch to a FIFO queue refuses %j for deduplication ids',
  async (message_deduplication_ids) => {
    const queueName = await createQueue(pool, { FifoQueue: true });
    const sending = call(pool, 'send_message_batch', {
      queue_name: queueName,
      message_bodies: ['a', 'b'],
      message_group_ids: ['g', 'g'],
      message_deduplication_ids,
    });
    await expect(sending).rejects.toMatchObject({
      code: 'TQ012',
      message: expect.stringContaining('MessageDeduplicationId'),
    });
  },
);

const shapes: [string, (values: string[]) => string][] = [
  ['rows of rows', (values) => `{${values.map((value) => `{${value}}`).join(',')}}`],
  ['indexes from 0', (values) => `[0:${values.length - 1}]={${values.join(',')}}`],
];

describe.each([
  ['a standard queue', {}, false],
  ['a FIFO queue', { FifoQueue: true }, true],
])('for %s', (_kind, attributes, isFifo) => {
  it.each(shapes)('arrays may have %s', async (_what, array) => {
    const queue_name = await createQueue(pool, attributes);
    const sent = await call<SqlSent>(pool, 'send_message_batch', {
      queue_name,
      message_bodies: array(['a', 'b']),
      delays: array(['0', '0']),
      message_attributes: array(['null', 'null']),
      message_group_ids: array(['g', 'g']),
      message_deduplication_ids: isFifo ? array(['1', '2']) : undefined,
      trace_headers: array(['t', 't']),
    });
    expect(sent).toHaveLength(2);
    const received = await receive(pool, queue_name, { max_number_of_messages: 2 });
    expect(received.map(({ body }) => body)).toEqual(['a', 'b']);
    const receipt_handles = array(received.map(({ receipt_handle }) => receipt_handle));
    await call(pool, 'change_message_visibility_batch', {
      queue_name,
      receipt_handles,
      visibility_timeouts: array(['1 minute', '1 minute']),
    });
    await call(pool, 'delete_message_batch', { queue_name, receipt_handles });
    expect(
      await call(pool, 'delete_message_batch_or_ignore', { queue_name, receipt_handles }),
    ).toEqual([{ delete_message_batch_or_ignore: [false, false] }]);
    for (const name of ['delete_message_batch', 'delete_message_batch_or_ignore']) {
      const refused = call(pool, name, { queue_name, receipt_handles: array(['wrong', 'worse']) });
      await expect(refused).rejects.toMatchObject({
        code: 'TQ007',
        message: expect.stringContaining('"wrong"'),
      });
    }
  });
});

it('a visibility timeout needs a receipt handle', async () => {
  for (const attributes of [{}, { FifoQueue: true }]) {
    const change = call(pool, 'change_message_visibility_batch', {
      queue_name: await createQueue(pool, attributes),
      receipt_handles: null,
      visibility_timeouts: ['1 minute'],
    });
    await expect(change).rejects.toMatchObject({ code: 'TQ012' });
  }
});

it.each(['delete_message', 'delete_message_or_ignore', 'change_message_visibility'])(
  '%s takes a receipt handle that is null for a missing parameter',
  async (name) => {
    const refusal = call(pool, name, {
      queue_name: await createQueue(pool),
      receipt_handle: null,
      ...(name === 'change_message_visibility' && { visibility_timeout: '1 minute' }),
    });
    await expect(refusal).rejects.toMatchObject({
      code: 'TQ013',
      message: 'The request must contain the parameter ReceiptHandle.',
    });
  },
);

it.each([
  [{ queue_name: null }, 'Queue name cannot be empty'],
  [
    { attributes: '[1]' },
    'Value [1] for parameter Attributes is invalid. Reason: Must be a JSON object.',
  ],
  [
    { attributes: '{"VisibilityTimeout": null}' },
    'Invalid value for the parameter VisibilityTimeout.',
  ],
  [{ tags: '"x"' }, 'Value "x" for parameter Tags is invalid. Reason: Must be a JSON object.'],
  [{ tags: '{"a": 1}' }, 'Tag values must be texts of up to 256 characters.'],
  [{ tags: '{"": "x"}' }, 'Tag keys must be between 1 and 128 characters in length.'],
])('SQL refuses to create a queue of %j', async (given, message) => {
  const creation = call(pool, 'create_queue', { queue_name: 'new', ...given });
  await expect(creation).rejects.toMatchObject({
    code: expect.stringMatching(/^TQ01[12]$/),
    message,
  });
});

it('an error shows nothing of the row of a queue', async () => {
  // A violated constraint would, the key of its receipt handles included.
  const given = { queue_name: 'without-tags', tags: null, attributes: null };
  expect(await call(pool, 'create_queue', given)).toEqual([{ create_queue: true }]);
  const queueName = await createQueue(pool);
  const change = call(pool, 'set_queue_attributes', { queue_name: queueName, attributes: '{}' });
  await expect(change).rejects.toMatchObject({ code: 'TQ013', detail: undefined });
});
