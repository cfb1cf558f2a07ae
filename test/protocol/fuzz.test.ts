import fc, { type Arbitrary } from 'fast-check';
import { expect, it } from 'vitest';
import { operations } from '../../src/operations/registry.ts';
import { type TSchema, Type } from '../../src/sqs/shapes/schema.ts';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';
import { send, sendJson } from './requests.ts';
import { formParameters } from './shape-arbitrary.ts';

const server = useServer(useDatabase());

const requests = 400;
const answeredWithinMs = 5_000;

/** Text that has broken servers before, beside any other. */
const text = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'binary' }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'fuzz',
      'All',
      '',
      '\u{0}',
      'a\u{0}b',
      '\u{FFFF}',
      '__proto__',
      '1e400',
      '-0',
      '99999999999999999999',
      '../../etc/passwd',
      "'; drop schema trunkline --",
      '{"maxReceiveCount":"\u{0}"}',
      'A'.repeat(44),
      'x'.repeat(5_000),
      '//',
      'http://[',
    ),
  },
);

/** Whole seconds small enough to wait for, and numbers that no member takes. */
const integer: Arbitrary<unknown> = fc.constantFrom(
  -1,
  0,
  1,
  0.5,
  901,
  43_201,
  2 ** 31,
  1e300,
  '1',
);

/** Values that often fit a shape, so that they get past the decoding, and sometimes are anything. */
function nearlyOfShape(schema: TSchema): Arbitrary<unknown> {
  const fitting = (): Arbitrary<unknown> => {
    if (Type.IsArray(schema)) {
      return fc.array(nearlyOfShape(schema.items), { maxLength: 12 });
    }
    if (Type.IsRecord(schema)) {
      const attributes = fc.constantFrom('VisibilityTimeout', 'Policy', 'KmsMasterKeyId', 'a.b');
      const value = nearlyOfShape(Type.RecordValue(schema));
      return fc.dictionary(fc.oneof(attributes, text), value, { maxKeys: 4 });
    }
    if (Type.IsObject(schema)) {
      const members = Object.entries(schema.properties).map(
        ([name, member]) => [name, name === 'QueueUrl' ? queueUrl : nearlyOfShape(member)] as const,
      );
      return fc.record(Object.fromEntries(members), { requiredKeys: [] });
    }
    return Type.IsInteger(schema) ? integer : text;
  };
  return fc.oneof(
    { weight: 12, arbitrary: fitting() },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  );
}

const queueUrl = fc.oneof(
  { weight: 6, arbitrary: fc.constant('http://any/000000000000/fuzz') },
  { weight: 1, arbitrary: text },
);

const request = fc.constantFrom(...operations.values()).chain((operation) =>
  fc.record({
    action: fc.constant(operation.action),
    shape: fc.constant(operation.shapes.input),
    input: nearlyOfShape(operation.shapes.input),
    path: fc.constantFrom('', '/', '/000000000000/fuzz', '/000000000000/none', '/any/thing'),
  }),
);

/** Queues come and go while the requests are made, so each finds one. */
async function createQueue(): Promise<void> {
  await sendJson(server.url, 'CreateQueue', { QueueName: 'fuzz' });
}

/** Sends a request and expects an answer that blames its sender, if anybody. */
async function expectAnswer(url: string, options: RequestInit): Promise<void> {
  const { status, headers } = await send(url, {
    ...options,
    signal: AbortSignal.timeout(answeredWithinMs),
  });
  expect(status).toBeLessThan(500);
  expect(headers.get('x-amzn-requestid')).not.toBeNull();
}

it('answers whatever comes in JSON', async () => {
  await fc.assert(
    fc.asyncProperty(request, async ({ action, input, path }) => {
      await createQueue();
      await expectAnswer(`${server.url}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-amz-json-1.0',
          'x-amz-target': `AmazonSQS.${action}`,
        },
        body: JSON.stringify(input) ?? '',
      });
    }),
    { numRuns: requests },
  );
}, 60_000);

it('answers whatever comes in a form', async () => {
  await fc.assert(
    fc.asyncProperty(request, async ({ action, shape, input, path }) => {
      await createQueue();
      const form = new URLSearchParams([['Action', action], ...formParameters(shape, input, '')]);
      await expectAnswer(`${server.url}${path}`, { method: 'POST', body: form });
    }),
    { numRuns: requests },
  );
}, 60_000);

it('answers whatever comes as parameters, headers and body', async () => {
  const action = fc.oneof(fc.constantFrom(...operations.keys()), text);
  const headerValue = fc.string({ unit: fc.constantFrom(...'azAZ09 /;=.+-*,"') });
  const anything = fc.record({
    method: fc.constantFrom('GET', 'POST'),
    path: fc.webPath(),
    parameters: fc.array(fc.tuple(text, text), { maxLength: 5 }),
    action: fc.option(action),
    target: fc.option(fc.constantFrom(...operations.keys(), 'x', '')),
    contentType: fc.option(
      fc.oneof(
        fc.constantFrom('application/x-amz-json-1.0', 'application/x-www-form-urlencoded'),
        headerValue,
      ),
    ),
    traceId: fc.option(headerValue),
    body: fc.oneof(fc.json(), fc.webQueryParameters(), fc.uint8Array()),
  });
  await fc.assert(
    fc.asyncProperty(anything, async (given) => {
      const parameters = new URLSearchParams(given.parameters);
      if (given.action !== null) {
        parameters.set('Action', given.action);
      }
      // Long polls are answered late by intention.
      parameters.set('WaitTimeSeconds', '0');
      const headers = new Headers();
      if (given.contentType !== null) {
        headers.set('content-type', given.contentType);
      }
      if (given.target !== null) {
        headers.set('x-amz-target', `AmazonSQS.${given.target}`);
      }
      if (given.traceId !== null) {
        headers.set('x-amzn-trace-id', given.traceId);
      }
      await expectAnswer(`${server.url}${given.path}?${parameters}`, {
        method: given.method,
        headers,
        ...(given.method === 'POST' && { body: given.body }),
      });
    }),
    { numRuns: requests },
  );
}, 60_000);
