import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { openServer, useServer } from '../support/server.ts';
import { call, createQueue, receive, send } from './requests.ts';

const database = useDatabase();
const server = useServer(database, { poolSize: 10 });

/** Time for a poll that was just sent to have asked the database and begun to wait. */
const settlesInMs = 400;

/** Connections of the server, without that of its wake channel and those of this test. */
async function serverConnections(): Promise<{ state: string }[]> {
  const { rows } = await database.pool.query<{ state: string }>(
    `select state from pg_stat_activity
    where datname = current_database()
      and application_name not in ('trunkline test', 'trunkline wake channel')`,
  );
  return rows;
}

describe('Clients that wait for messages', () => {
  it('are served by hundreds over a pool of ten connections, and leave room for others', async () => {
    const queueUrl = await createQueue(server.url, 'popular');
    const otherUrl = await createQueue(server.url, 'other');
    const polls = Promise.all(
      Array.from({ length: 500 }, () => receive(server.url, queueUrl, { WaitTimeSeconds: 6 })),
    );
    // Awaited in the end; a failure before that is not to be reported apart.
    polls.catch(() => {});
    // Everybody has connected and waits; meanwhile the server works for others as if alone.
    await sleep(2_000);
    const startedAtMs = performance.now();
    await send(server.url, otherUrl, 'hello');
    expect(await receive(server.url, otherUrl)).toMatchObject([{ Body: 'hello' }]);
    expect(performance.now() - startedAtMs).toBeLessThan(1_000);
    const connections = await serverConnections();
    expect(connections.length).toBeLessThanOrEqual(10);
    expect(connections.filter(({ state }) => state !== 'idle').length).toBeLessThanOrEqual(2);

    for (let batch = 0; batch < 30; batch += 1) {
      const Entries = Array.from({ length: 10 }, (_, index) => ({
        Id: `${index}`,
        MessageBody: `${batch * 10 + index}`,
      }));
      await call(server.url, 'SendMessageBatch', { QueueUrl: queueUrl, Entries });
    }
    const answers = await polls;
    const bodies = answers.flatMap((messages) => messages.map(({ Body }) => Body));
    expect(bodies).toHaveLength(300);
    expect(new Set(bodies).size).toBe(300);
    expect(answers.filter((messages) => messages.length === 0)).toHaveLength(200);
  });

  it.each(['the same server', 'another server', 'an SQL transaction'])(
    'get a message in milliseconds from %s',
    async (sender) => {
      const queueUrl = await createQueue(server.url, randomUUID());
      const other = await openServer(database.url, { poolSize: 2 });
      try {
        const latenciesMs: number[] = [];
        for (let round = 1; round <= 3; round += 1) {
          const poll = receive(server.url, queueUrl, {
            WaitTimeSeconds: 10,
            VisibilityTimeout: 600,
          });
          await sleep(settlesInMs);
          const startedAtMs = performance.now();
          if (sender === 'the same server') {
            await send(server.url, queueUrl);
          } else if (sender === 'another server') {
            await send(other.url, queueUrl);
          } else {
            await sendBySql(queueUrl);
          }
          expect(await poll).toHaveLength(1);
          latenciesMs.push(performance.now() - startedAtMs);
        }
        expect(Math.max(...latenciesMs)).toBeLessThan(1_000);
      } finally {
        await other.close();
      }
    },
  );

  it('get a message of an SQL transaction when it commits, not earlier', async () => {
    const queueUrl = await createQueue(server.url, randomUUID());
    const poll = receive(server.url, queueUrl, { WaitTimeSeconds: 10 });
    let committedAtMs = 0;
    await sendBySql(queueUrl, async () => {
      await sleep(700);
      committedAtMs = performance.now();
    });
    expect(await poll).toHaveLength(1);
    expect(committedAtMs).toBeGreaterThan(0);
    expect(performance.now() - committedAtMs).toBeLessThan(1_000);
  });

  it('hear nothing of an SQL transaction that is rolled back', async () => {
    const queueUrl = await createQueue(server.url, randomUUID());
    const poll = receive(server.url, queueUrl, { WaitTimeSeconds: 1 });
    await sendBySql(queueUrl, async (client) => {
      await client.query('rollback');
      await client.query('begin');
    });
    expect(await poll).toEqual([]);
  });
});

describe('A client that hangs up', () => {
  it('while it waits gets no message', async () => {
    const queueUrl = await createQueue(server.url, randomUUID());
    const hangUp = new AbortController();
    const polls = [1, 2, 3].map(() =>
      receive(server.url, queueUrl, { WaitTimeSeconds: 20 }, hangUp.signal),
    );
    await sleep(settlesInMs);
    hangUp.abort();
    expect((await Promise.allSettled(polls)).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'rejected',
    ]);
    await sleep(100);
    await send(server.url, queueUrl);
    expect(await receive(server.url, queueUrl)).toMatchObject([
      { Attributes: { ApproximateReceiveCount: '1' } },
    ]);
  });

  it('does not keep a message from those who still wait', async () => {
    const queueUrl = await createQueue(server.url, randomUUID());
    const hangUp = new AbortController();
    const gone = Promise.allSettled(
      [1, 2, 3].map(() => receive(server.url, queueUrl, { WaitTimeSeconds: 20 }, hangUp.signal)),
    );
    await sleep(settlesInMs);
    const waiting = receive(server.url, queueUrl, { WaitTimeSeconds: 10 });
    await sleep(settlesInMs);
    hangUp.abort();
    await gone;
    const startedAtMs = performance.now();
    await send(server.url, queueUrl);
    expect(await waiting).toHaveLength(1);
    expect(performance.now() - startedAtMs).toBeLessThan(2_000);
  });

  it.each([2, 20])('while %d polls wait on one connection gets no message', async (count) => {
    const warned = vi.fn();
    process.on('warning', warned);
    onTestFinished(() => {
      process.off('warning', warned);
    });
    const queueUrl = await createQueue(server.url, randomUUID());
    const { hostname, port } = new URL(server.url);
    const body = JSON.stringify({ QueueUrl: queueUrl, WaitTimeSeconds: 20 });
    const poll = [
      'POST / HTTP/1.1',
      'Host: here',
      'X-Amz-Target: AmazonSQS.ReceiveMessage',
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n');
    const socket = connect(Number(port), hostname);
    socket.write(poll.repeat(count));
    await sleep(settlesInMs);
    socket.destroy();
    await sleep(100);
    await send(server.url, queueUrl);
    expect(await receive(server.url, queueUrl)).toMatchObject([
      { Attributes: { ApproximateReceiveCount: '1' } },
    ]);
    expect(warned).not.toHaveBeenCalled();
  });

  it.each([0, 10])(
    'while its messages are fetched gives them back, at a wait of %d seconds',
    async (WaitTimeSeconds) => {
      const queueUrl = await createQueue(server.url, randomUUID());
      await send(server.url, queueUrl);
      const blocker = await database.pool.connect();
      const hangUp = new AbortController();
      try {
        // The statement of the receive waits for this lock while its client goes away.
        await blocker.query('begin');
        await blocker.query('lock table trunkline.messages in access exclusive mode');
        const gone = receive(server.url, queueUrl, { WaitTimeSeconds }, hangUp.signal);
        await sleep(settlesInMs);
        hangUp.abort();
        await expect(gone).rejects.toThrow();
        await sleep(100);
        await blocker.query('commit');
      } finally {
        blocker.release();
      }
      expect(await receive(server.url, queueUrl, { WaitTimeSeconds: 5 })).toHaveLength(1);
    },
  );
});

async function sendBySql(
  queueUrl: string,
  beforeCommit: (client: PoolClient) => Promise<void> = async () => {},
): Promise<void> {
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    await client.query(`select trunkline.send_message($1, 'hello')`, [queueUrl.split('/').at(-1)]);
    await beforeCommit(client);
    await client.query('commit');
  } finally {
    client.release();
  }
}
