import type { Client } from 'pg';
import type { Benchmark, Run } from './harness/benchmark.ts';
import { openClient } from './harness/postgres.ts';
import { percentile } from './harness/statistics.ts';
import { startTrunkline } from './harness/trunkline-server.ts';
import { rawStatements } from './sql/raw-statements.ts';
import type { SqlQueue } from './sql/sql-queue.ts';
import { trunklineFunctions } from './sql/trunkline.ts';

const batchSize = 10;

interface Lane {
  name: string;
  client: Client;
  queue: SqlQueue;
  messages: number;
  drainMs: number[];
}

/**
 * Traffic beside a session that holds an old snapshot, as a report or a dump does: nothing that is deleted can
 * be cleaned up, and what receives from a plain index gets slower and slower.
 */
export const horizon: Benchmark = {
  seconds: 600,
  quickSeconds: 12,
  async run(run) {
    const lanes = [
      await openLane(run, 'Trunkline', trunklineFunctions, false),
      await openLane(run, 'Trunkline, old snapshot', trunklineFunctions, true),
      await openLane(run, 'raw statements, old snapshot', rawStatements, true),
    ];
    const slices = run.isQuick ? 6 : 20;
    const rows = [];
    for (let slice = 1; slice <= slices; slice += 1) {
      for (const lane of lanes) {
        run.progress(`Slice ${slice} of ${slices}: ${lane.name}`);
        lane.drainMs = [];
        await work(lane, run.seconds / slices / lanes.length);
      }
      const [p50WithoutSnapshot, p50] = lanes.map(({ drainMs }) => percentile(drainMs, 0.5));
      rows.push([
        `${slice}`,
        ...lanes.flatMap(({ messages, drainMs }) => [
          messages,
          percentile(drainMs, 0.5),
          percentile(drainMs, 0.99),
        ]),
        p50WithoutSnapshot && p50 && p50 / p50WithoutSnapshot,
      ]);
    }
    return {
      tables: [
        {
          caption: `Receive ${batchSize} and delete them by SQL, in milliseconds, over time`,
          columns: [
            'slice',
            ...lanes.flatMap(({ name }) => [`${name}: messages so far`, 'p50', 'p99']),
            'ratio of p50',
          ],
          rows,
        },
      ],
      notes: ['The ratio is that of Trunkline with the old snapshot to Trunkline without.'],
    };
  },
};

/** In a database of its own, because a snapshot holds back the clean-up of its database only. */
async function openLane(
  run: Run,
  name: string,
  queue: SqlQueue,
  hasOldSnapshot: boolean,
): Promise<Lane> {
  const purpose = `horizon_${name.replaceAll(/\W+/g, '_').toLowerCase()}`;
  const databaseUrl = await run.postgres.createDatabase(purpose);
  const server = await startTrunkline(databaseUrl);
  run.closeAtEnd(() => server.stop());
  const client = await openClient(databaseUrl, run.closeAtEnd);
  await queue.empty(client);
  if (hasOldSnapshot) {
    const reader = await openClient(databaseUrl, run.closeAtEnd);
    await reader.query('begin isolation level repeatable read read only');
    await reader.query('select count(*) from pg_class');
  }
  return { name, client, queue, messages: 0, drainMs: [] };
}

async function work(lane: Lane, seconds: number): Promise<void> {
  const deadlineMs = performance.now() + seconds * 1000;
  while (performance.now() < deadlineMs) {
    await lane.queue.send(lane.client, batchSize);
    const startedAtMs = performance.now();
    lane.messages += await lane.queue.drain(lane.client, batchSize);
    lane.drainMs.push(performance.now() - startedAtMs);
  }
}
