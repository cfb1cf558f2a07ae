import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { openServer } from '../support/server.ts';
import { call, createQueue, receive, send } from './requests.ts';

const database = useDatabase();

const settlesInMs = 400;

it('a server that closes answers waiting polls empty', async () => {
  const server = await openServer(database.url);
  const queueUrl = await createQueue(server.url, 'waited-for');
  const polls = Array.from({ length: 20 }, () =>
    receive(server.url, queueUrl, { WaitTimeSeconds: 20 }),
  );
  await sleep(settlesInMs);
  const startedAtMs = performance.now();
  await server.close();
  expect(performance.now() - startedAtMs).toBeLessThan(2_000);
  expect(await Promise.all(polls)).toEqual(polls.map(() => []));
});

it('a server that closes finishes the work in hand, and takes no more', async () => {
  const server = await openServer(database.url);
  const queueUrl = await createQueue(server.url, 'worked-on');
  await send(server.url, queueUrl, 'received');
  const blocker = await database.pool.connect();
  let closed: Promise<void>;
  let inHand: Promise<[{ status: number }, unknown[]]>;
  try {
    await blocker.query('begin');
    await blocker.query('lock table trunkline.messages in access exclusive mode');
    inHand = Promise.all([
      call(server.url, 'SendMessage', { QueueUrl: queueUrl, MessageBody: 'sent' }),
      receive(server.url, queueUrl, { WaitTimeSeconds: 20 }),
    ]);
    await sleep(settlesInMs);
    closed = server.close();
    await sleep(settlesInMs);
    await expect(send(server.url, queueUrl, 'late')).rejects.toThrow();
    await blocker.query('commit');
  } finally {
    blocker.release();
  }
  const [sent, received] = await inHand;
  expect(sent.status).toBe(200);
  expect(received).toMatchObject([{ Body: expect.stringMatching(/^(received|sent)$/) }]);
  await closed;

  const { rows } = await database.pool.query<{ body: string }>(
    `select message.body from trunkline.messages as message
    join trunkline.queues as queue on queue.id = message.queue_id
    where queue.name = 'worked-on' order by message.body`,
  );
  expect(rows.map(({ body }) => body)).toEqual(['received', 'sent']);
});

it('a server that closes can be closed while clients keep idle connections', async () => {
  const server = await openServer(database.url);
  await createQueue(server.url, 'idle');
  const startedAtMs = performance.now();
  await server.close();
  expect(performance.now() - startedAtMs).toBeLessThan(2_000);
});
