import type { Client } from 'pg';
import type { Benchmark, Run } from './harness/benchmark.ts';
import { openClient } from './harness/postgres.ts';
import { percentile } from './harness/statistics.ts';
import type { Table } from './harness/table.ts';
import { startTrunkline } from './harness/trunkline-server.ts';
import { rawStatements } from './sql/raw-statements.ts';
import type { SqlQueue } from './sql/sql-queue.ts';
import { trunklineFifoFunctions, trunklineFunctions } from './sql/trunkline.ts';

const batchSize = 10;

interface Lane {
  client: Client;
  messages: number;
}

/** The same traffic with and without an old snapshot. */
interface Pair {
  queue: SqlQueue;
  free: Lane;
  pinned: Lane;
  table: Table;
}

/**
 * Traffic beside a session that holds an old snapshot, as a report or a dump does: nothing that is deleted can
 * be cleaned up, and what receives from a plain index gets slower and slower.
 */
export const horizon: Benchmark = {
  seconds: 600,
  quickSeconds: 12,
  async run(run) {
    const pairs: Pair[] = [];
    for (const queue of [trunklineFunctions, trunklineFifoFunctions, rawStatements]) {
      run.progress(`Preparing ${queue.name}`);
      pairs.push(await openPair(run, queue));
    }
    const slices = run.isQuick ? 4 : 20;
    const secondsOfLane = run.seconds / slices / (pairs.length * 2);
    for (let slice = 1; slice <= slices; slice += 1) {
      for (const { queue, free, pinned, table } of pairs) {
        run.progress(`Slice ${slice} of ${slices}: ${queue.name}`);
        const freeMs = await work(queue, free, secondsOfLane);
        const pinnedMs = await work(queue, pinned, secondsOfLane);
        const [freeP50, pinnedP50] = [percentile(freeMs, 0.5), percentile(pinnedMs, 0.5)];
        table.rows.push([
          String(slice),
          free.messages,
          freeP50,
          percentile(freeMs, 0.99),
          pinned.messages,
          pinnedP50,
          percentile(pinnedMs, 0.99),
          pinnedP50 / freeP50,
        ]);
      }
    }
    return { tables: pairs.map(({ table }) => table) };
  },
};

async function openPair(run: Run, queue: SqlQueue): Promise<Pair> {
  return {
    queue,
    free: await openLane(run, queue, false),
    pinned: await openLane(run, queue, true),
    table: {
      caption: `${queue.name}: receive ${batchSize} and delete them by SQL, in milliseconds`,
      columns: [
        'Slice',
        'messages so far',
        'p50',
        'p99',
        'with old snapshot: messages so far',
        'p50',
        'p99',
        'p50 with / without',
      ],
      rows: [],
    },
  };
}

/** In a database of its own, because a snapshot holds back the clean-up of its database only. */
async function openLane(run: Run, queue: SqlQueue, isPinned: boolean): Promise<Lane> {
  const name = queue.name.replaceAll(/\W+/g, '_').toLowerCase();
  const databaseUrl = await run.postgres.createDatabase(
    `horizon_${name}_${isPinned ? 'pinned' : 'free'}`,
  );
  await startTrunkline(databaseUrl, run.closeAtEnd);
  const client = await openClient(databaseUrl, run.closeAtEnd);
  await queue.empty(client);
  if (isPinned) {
    const reader = await openClient(databaseUrl, run.closeAtEnd);
    await reader.query('begin isolation level repeatable read read only');
    await reader.query('select count(*) from pg_class');
  }
  return { client, messages: 0 };
}

/** Answers how long each receive with its delete took. */
async function work(queue: SqlQueue, lane: Lane, seconds: number): Promise<number[]> {
  const milliseconds: number[] = [];
  const deadlineMs = performance.now() + seconds * 1000;
  while (performance.now() < deadlineMs) {
    await queue.send(lane.client, batchSize);
    const startedAtMs = performance.now();
    lane.messages += await queue.drain(lane.client, batchSize);
    milliseconds.push(performance.now() - startedAtMs);
  }
  return milliseconds;
}
