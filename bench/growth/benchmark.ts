import type { Client } from 'pg';
import type { Benchmark, Run } from '../harness/benchmark.ts';
import { messageBody } from '../harness/load.ts';
import { openClient } from '../harness/postgres.ts';
import { percentile } from '../harness/statistics.ts';
import { settle } from './fill.ts';
import { type Situation, situations } from './situations.ts';

interface Prepared {
  situation: Situation;
  client: Client;
  queueName: string;
  sendMs: number[];
  receiveMs: number[];
  attributesMs: number[];
}

/** Whether a send and a receive cost the same, however much is stored, hidden or blocked. */
export const growth: Benchmark = {
  seconds: 2,
  quickSeconds: 0.1,
  async run(run) {
    const all: Prepared[] = [];
    for (const [index, situation] of situations(run.isQuick).entries()) {
      run.progress(`Filling a queue: ${situation.name}`);
      all.push(await prepare(run, situation, `growth_${index}`));
    }
    for (let round = 1; round <= run.rounds; round += 1) {
      for (const prepared of all) {
        run.progress(`Round ${round} of ${run.rounds}: ${prepared.situation.name}`);
        await measure(prepared, run.seconds);
      }
    }
    const rows = [];
    for (const prepared of all) {
      const { situation, client, queueName, sendMs, receiveMs, attributesMs } = prepared;
      await wakeUp(prepared);
      rows.push([
        situation.name,
        percentile(sendMs, 0.5),
        percentile(sendMs, 0.99),
        await buffersOf(client, sendOf(queueName), [queueName, messageBody, 'explained']),
        percentile(receiveMs, 0.5),
        percentile(receiveMs, 0.99),
        await buffersOf(client, 'select * from trunkline.receive_message($1)', [queueName]),
        percentile(attributesMs, 0.5),
      ]);
    }
    return {
      tables: [
        {
          caption: 'One message by SQL, in milliseconds, and pages of 8 KiB touched',
          columns: [
            'Queue',
            'send p50',
            'p99',
            'pages',
            'receive p50',
            'p99',
            'pages',
            'GetQueueAttributes p50',
          ],
          rows,
        },
      ],
      notes: [
        'Commits do not wait for the disk here: its few hundred microseconds would hide what is compared.',
      ],
    };
  },
};

async function prepare(run: Run, situation: Situation, purpose: string): Promise<Prepared> {
  const client = await openClient(await run.postgres.createDatabase(purpose), run.closeAtEnd);
  await client.query('set synchronous_commit = off');
  const queueName = await situation.prepare(client);
  await settle(client);
  await client.query('vacuum analyze');
  return { situation, client, queueName, sendMs: [], receiveMs: [], attributesMs: [] };
}

function sendOf(queueName: string): string {
  return queueName.endsWith('.fifo')
    ? `select * from trunkline.send_message($1, $2, message_group_id => $3, message_deduplication_id => gen_random_uuid()::text)`
    : `select * from trunkline.send_message($1, $2, trace_header => $3)`;
}

/** Sends, receives and deletes one message after the other, so that as many stay as there were. */
async function measure(prepared: Prepared, seconds: number): Promise<void> {
  const { client, queueName, sendMs, receiveMs, attributesMs } = prepared;
  await wakeUp(prepared);
  const deadlineMs = performance.now() + seconds * 1000;
  while (performance.now() < deadlineMs) {
    await cycle(prepared, sendMs, receiveMs);
  }
  for (let time = 0; time < 5; time += 1) {
    await timed(attributesMs, () =>
      client.query('select trunkline.get_queue_attributes($1)', [queueName]),
    );
  }
}

/** Brings the queue into the state of one in use: the server's maintenance passes over idle ones. */
async function wakeUp(prepared: Prepared): Promise<void> {
  await cycle(prepared, [], []);
  await settle(prepared.client);
}

async function cycle(
  { client, queueName }: Prepared,
  sendMs: number[],
  receiveMs: number[],
): Promise<void> {
  await timed(sendMs, () =>
    client.query({
      name: 'send',
      text: sendOf(queueName),
      values: [queueName, messageBody, String(Math.floor(Math.random() * 100))],
    }),
  );
  const { rows } = await timed(receiveMs, () =>
    client.query<{ receipt_handle: string }>({
      name: 'receive',
      text: 'select * from trunkline.receive_message($1)',
      values: [queueName],
    }),
  );
  for (const row of rows) {
    await client.query({
      name: 'delete',
      text: 'select trunkline.delete_message($1, $2)',
      values: [queueName, row.receipt_handle],
    });
  }
}

async function timed<Result>(milliseconds: number[], work: () => Promise<Result>): Promise<Result> {
  const startedAtMs = performance.now();
  const result = await work();
  milliseconds.push(performance.now() - startedAtMs);
  return result;
}

interface Explained {
  Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number };
}

/** Pages that a statement touches, in memory or not; what it does is undone. */
async function buffersOf(client: Client, text: string, values: string[]): Promise<number> {
  await client.query('begin');
  const { rows } = await client.query<{ 'QUERY PLAN': Explained[] }>(
    `explain (analyze, buffers, format json) ${text}`,
    values,
  );
  await client.query('rollback');
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
  return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
}
