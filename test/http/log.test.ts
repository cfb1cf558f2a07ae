import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { startServerProcess, useCompiledServer } from '../crash/compiled-server.ts';
import { useDatabase } from '../support/database.ts';
import { setReadOnly } from './read-only.ts';

const database = useDatabase();
const compiled = useCompiledServer();

const describeQueue = (url: string) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'AmazonSQS.GetQueueAttributes',
    },
    body: JSON.stringify({ QueueUrl: `${url}/000000000000/logged`, AttributeNames: ['All'] }),
  });

function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

it('has nothing about clients that hang up within a request', async () => {
  const server = await startServerProcess(compiled, { DATABASE_URL: database.url });
  const { hostname, port } = new URL(server.url);
  for (let time = 0; time < 10; time += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write('POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\nhalf of');
    // Not before the server has begun to read.
    await new Promise((resume) => setTimeout(resume, 20));
    socket.destroy();
  }
  await fetch(`${server.url}/health`);
  await server.kill('SIGTERM');
  expect(server.output()).not.toContain('"level":50');
});

it('tells once of a schema that does not fit, and the request', async () => {
  await database.pool.query(`select trunkline.create_queue('logged')`);
  const server = await startServerProcess(compiled, { DATABASE_URL: database.url });
  await database.pool.query('alter function trunkline._describe_queue rename to gone');
  const answers = [await describeQueue(server.url), await describeQueue(server.url)];
  await database.pool.query('alter function trunkline.gone rename to _describe_queue');
  expect(answers.map(({ status }) => status)).toEqual([503, 503]);
  await server.kill('SIGTERM');
  expect(countOf(server.output(), '_describe_queue')).toBeGreaterThan(0);
  expect(countOf(server.output(), 'another schema')).toBe(1);
  expect(server.output()).toContain(answers[0]?.headers.get('x-amzn-requestid') ?? 'no request id');
});

it('tells once that the database takes no changes', async () => {
  await database.pool.query(`select trunkline.create_queue('read_only')`);
  const server = await startServerProcess(compiled, { DATABASE_URL: database.url });
  const send = () => fetch(`${server.url}/000000000000/read_only?Action=SendMessage&MessageBody=x`);
  await setReadOnly(database, true);
  const answers = [await send(), await send()];
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  await setReadOnly(database, false);
  expect(answers.map(({ status }) => status)).toEqual([503, 503]);
  expect(texts[0]).toContain('The database takes no changes at the moment. Try again.');
  expect((await send()).status).toBe(200);
  await server.kill('SIGTERM');
  expect(countOf(server.output(), 'Set DATABASE_URL to the primary.')).toBe(1);
  expect(server.output()).toContain('25006');
});
