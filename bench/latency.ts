import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Benchmark, Run } from './harness/benchmark.ts';
import { messageBody } from './harness/load.ts';
import { openClient } from './harness/postgres.ts';
import { percentile } from './harness/statistics.ts';
import type { Table } from './harness/table.ts';
import { startTrunkline } from './harness/trunkline-server.ts';
import { SqsConnection } from './http/sqs-connection.ts';

const queueName = 'bench';
const longestWaitSeconds = 20;
const waitingPolls = 500;
/** Statistics of a connection reach pg_stat_database up to a second late. */
const statisticsDelayMs = 1_500;

interface Door {
  name: string;
  /** Resolves when the message is committed. */
  send(): Promise<unknown>;
}

/** From the commit of a message to the answer of a poll that waits for it; and what waiting costs. */
export const latency: Benchmark = {
  seconds: 10,
  quickSeconds: 3,
  async run(run) {
    const databaseUrl = await run.postgres.createDatabase('latency');
    const [server, otherServer] = [
      await startTrunkline(databaseUrl, run.closeAtEnd),
      await startTrunkline(databaseUrl, run.closeAtEnd),
    ];
    const client = await openClient(databaseUrl, run.closeAtEnd);
    return {
      tables: [
        await measureWakeUps(run, server.url, otherServer.url, client),
        await measureWaiting(run, server.url, client),
      ],
    };
  },
};

/** Polls wait at the first server; messages come by each door in turn. */
async function measureWakeUps(
  run: Run,
  url: string,
  otherUrl: string,
  client: Client,
): Promise<Table> {
  const [poller, sender, otherSender] = [
    new SqsConnection(url),
    new SqsConnection(url),
    new SqsConnection(otherUrl),
  ];
  const queueUrl = await poller.createQueue(queueName);
  const doors: Door[] = [
    { name: 'same server', send: () => sender.sendMessage(queueUrl) },
    { name: 'other server', send: () => otherSender.sendMessage(queueUrl) },
    {
      name: 'SQL statement',
      send: () => client.query('select trunkline.send_message($1, $2)', [queueName, messageBody]),
    },
  ];
  const millisecondsOf = new Map<Door, number[]>(doors.map((door) => [door, []]));
  const samples = run.isQuick ? 8 : 60;
  for (let round = 1; round <= run.rounds; round += 1) {
    for (const [door, milliseconds] of millisecondsOf) {
      run.progress(`Round ${round} of ${run.rounds}: wake-up by a send, ${door.name}`);
      for (let sample = 0; sample < samples; sample += 1) {
        milliseconds.push(await wakeUpMs(poller, queueUrl, door));
      }
    }
  }
  for (const connection of [poller, sender, otherSender]) {
    connection.close();
  }
  return {
    caption: 'From the commit to the answer of a waiting poll, in milliseconds',
    columns: ['Sent through', 'p50', 'p99', 'samples'],
    rows: [...millisecondsOf].map(([door, milliseconds]) => [
      door.name,
      percentile(milliseconds, 0.5),
      percentile(milliseconds, 0.99),
      milliseconds.length,
    ]),
  };
}

async function wakeUpMs(poller: SqsConnection, queueUrl: string, door: Door): Promise<number> {
  const polled = poller
    .receive(queueUrl, 1, longestWaitSeconds)
    .then((handles) => ({ handles, answeredAtMs: performance.now() }));
  // Until the poll waits, and on to any moment between two look-outs.
  await sleep(30 + Math.random() * 250);
  await door.send();
  const committedAtMs = performance.now();
  const { handles, answeredAtMs } = await polled;
  for (const handle of handles) {
    await poller.deleteMessage(queueUrl, handle);
  }
  // Both answers are under way at the same time, and the poll's may come first.
  return Math.max(answeredAtMs - committedAtMs, 0);
}

/** Transactions in the database while nothing happens, without and with polls that wait. */
async function measureWaiting(run: Run, url: string, client: Client): Promise<Table> {
  const [first, ...others] = Array.from({ length: waitingPolls }, () => new SqsConnection(url));
  if (first === undefined) {
    throw new RangeError('Some polls must wait.');
  }
  const queueUrl = await first.createQueue(`${queueName}-waiting`);
  // The maintenance first notices that there is nothing to do any more.
  await sleep(run.isQuick ? 2_000 : 15_000);
  run.progress('Transactions without waiting polls');
  const idle = await transactionsPerSecond(client, run.seconds);
  const connections = [first, ...others];
  const polls = Promise.allSettled(
    connections.map((connection) => connection.receive(queueUrl, 1, longestWaitSeconds)),
  );
  // The polls' first attempts are transactions too, which idle connections report up to ten seconds late.
  await sleep(run.isQuick ? 2_000 : 11_000);
  run.progress(`Transactions with ${waitingPolls} waiting polls`);
  // The polls end after 20 seconds.
  const waiting = await transactionsPerSecond(client, Math.min(run.seconds, 6));
  for (const connection of connections) {
    connection.close();
  }
  await polls;
  return {
    caption: 'Transactions per second in an idle database with two servers',
    columns: ['', 'per second', 'per server'],
    rows: [
      ['nobody waits', idle, idle / 2],
      [`${waitingPolls} polls wait at one server`, waiting, waiting - idle / 2],
    ],
  };
}

async function transactionsPerSecond(client: Client, seconds: number): Promise<number> {
  const count = async () => {
    const { rows } = await client.query<{ count: string }>(
      'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
    );
    return Number(rows[0]?.count);
  };
  const before = await count();
  const startedAtMs = performance.now();
  await sleep(seconds * 1000 + statisticsDelayMs);
  const elapsedSeconds = (performance.now() - startedAtMs) / 1000;
  return Math.max((await count()) - before - 1, 0) / elapsedSeconds;
}
