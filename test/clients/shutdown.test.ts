import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { SQS } from '@aws-sdk/client-sqs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Server } from '../../src/server.ts';
import { jsonClient } from '../support/clients.ts';
import { useDatabase } from '../support/database.ts';
import { openServer } from '../support/server.ts';
import { send } from './requests.ts';

const database = useDatabase();

/** Time for requests that were just sent to have reached the database, or to wait. */
const settlesInMs = 400;
const closesWithinMs = 2_000;

/** A server and a client of it that keeps its connections, as SDKs do. */
async function openBoth(queueName: string): Promise<{ server: Server; sqs: SQS; url: string }> {
  const server = await openServer(database.url);
  const sqs = jsonClient(server.url);
  const { QueueUrl: url = '' } = await sqs.createQueue({ QueueName: queueName });
  onTestFinished(async () => {
    sqs.destroy();
    // Whatever a server waits for here must not outlive the test.
    server.app.server.closeAllConnections();
    await server.close().catch(() => {});
  });
  return { server, sqs, url };
}

async function expectClosed(closing: Promise<void>): Promise<void> {
  const isInTime = await Promise.race([
    closing.then(() => true),
    sleep(closesWithinMs, false, { ref: false }),
  ]);
  expect(isInTime, `The server is closed within ${closesWithinMs} ms.`).toBe(true);
}

function httpRequest(action: string, input: object): string {
  const body = JSON.stringify(input);
  return `POST / HTTP/1.1\r\nHost: here\r\nX-Amz-Target: AmazonSQS.${action}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

describe('A server that closes', () => {
  it('answers waiting polls empty', async () => {
    const { server, sqs, url } = await openBoth('waited-for');
    const polls = Promise.all(
      Array.from({ length: 20 }, () => sqs.receiveMessage({ QueueUrl: url, WaitTimeSeconds: 20 })),
    );
    await vi.waitFor(async () => {
      const connections = await promisify(
        server.app.server.getConnections.bind(server.app.server),
      )();
      expect(connections).toBeGreaterThanOrEqual(20);
    });
    await sleep(settlesInMs);
    const closing = server.close();
    const answers = await polls;
    expect(answers.map(({ Messages }) => Messages)).toEqual(answers.map(() => undefined));
    await expectClosed(closing);
  });

  it('tells waiting polls that their connections end', async () => {
    const { server, url } = await openBoth('told');
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => {
      socket.destroy();
    });
    socket.write(httpRequest('ReceiveMessage', { QueueUrl: url, WaitTimeSeconds: 20 }));
    await sleep(settlesInMs);
    const closing = server.close();
    const [answer] = await once(socket, 'data');
    expect(String(answer).toLowerCase()).toContain('\r\nconnection: close\r\n');
    await expectClosed(closing);
  });

  it('finishes the work in hand, and takes no more', async () => {
    const { server, sqs, url } = await openBoth('worked-on');
    const blocker = await database.pool.connect();
    await blocker.query('begin');
    await blocker.query('lock table trunkline.messages in access exclusive mode');
    const sent = sqs.sendMessage({ QueueUrl: url, MessageBody: 'sent' });
    await sleep(settlesInMs);
    const closing = server.close();
    await sleep(settlesInMs);
    await expect(send(server.url, url, 'late')).rejects.toThrow('ECONNREFUSED');
    await blocker.query('commit');
    blocker.release();
    expect((await sent).MessageId).toBeDefined();

    const { rows } = await database.pool.query<{ body: string }>(
      `select message.body from trunkline.messages as message
      join trunkline.queues as queue on queue.id = message.queue_id
      where queue.name = 'worked-on'`,
    );
    expect(rows).toEqual([{ body: 'sent' }]);
    await expectClosed(closing);
  });

  it('does not wait for clients that keep idle connections', async () => {
    const { server } = await openBoth('idle');
    await expectClosed(server.close());
  });

  it('does not wait for clients that connected and said nothing', async () => {
    const { server } = await openBoth('silent');
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => {
      socket.destroy();
    });
    await once(socket, 'connect');
    await sleep(50);
    await expectClosed(server.close());
  });

  it('answers requests that wait behind others on their connection', async () => {
    const { server, url } = await openBoth('pipelined');
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    let answered = '';
    socket.on('data', (chunk) => {
      answered += chunk;
    });
    const ended = once(socket, 'close');
    const poll = httpRequest('ReceiveMessage', { QueueUrl: url, WaitTimeSeconds: 20 });
    const describe = httpRequest('GetQueueAttributes', { QueueUrl: url });
    socket.write(poll + describe + describe);
    await sleep(settlesInMs);
    await expectClosed(server.close());
    await ended;
    expect(answered.split('HTTP/1.1 200 OK').length - 1).toBe(3);
  });

  it('does not wait for requests behind others of a client that hung up', async () => {
    const { server, url } = await openBoth('hung-up');
    const { hostname, port } = new URL(server.url);
    const poll = httpRequest('ReceiveMessage', { QueueUrl: url, WaitTimeSeconds: 20 });
    const [pipelining, silent] = [connect(Number(port), hostname), connect(Number(port), hostname)];
    onTestFinished(() => {
      silent.destroy();
    });
    pipelining.write(poll + poll);
    await sleep(settlesInMs);
    pipelining.destroy();
    await sleep(settlesInMs);
    await expectClosed(server.close());
  });

  it('answers what was on its way on idle connections', async () => {
    const { server, url } = await openBoth('on-the-way');
    const { hostname, port } = new URL(server.url);
    const request = httpRequest('GetQueueAttributes', { QueueUrl: url, AttributeNames: ['All'] });
    const sockets = Array.from({ length: 5 }, () => connect(Number(port), hostname));
    onTestFinished(() => {
      for (const socket of sockets) {
        socket.destroy();
      }
    });
    const answerTo = async (socket: Socket) => {
      socket.write(request);
      const [answer] = await once(socket, 'data');
      return String(answer).toLowerCase();
    };
    const before = await Promise.all(sockets.map(answerTo));
    expect(before.filter((answer) => answer.includes('connection: close'))).toEqual([]);

    const closing = server.close();
    const answers = await Promise.all(sockets.map(answerTo));
    for (const answer of answers) {
      expect(answer).toContain('http/1.1 200 ok');
      expect(answer).toContain('\r\nconnection: close\r\n');
    }
    await expectClosed(closing);
  });

  it('waits some seconds, not more, for a client to send the rest of a request', async () => {
    const { server } = await openBoth('stalled');
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => {
      socket.destroy();
    });
    socket.on('error', () => {});
    socket.write('POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\nhalf of');
    await sleep(settlesInMs);
    const startedAt = performance.now();
    await server.close();
    expect(performance.now() - startedAt).toBeGreaterThan(3_000);
    expect(performance.now() - startedAt).toBeLessThan(8_000);
  });
});
