import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Benchmark, Run } from '../harness/benchmark.ts';
import { Comparison } from '../harness/comparison.ts';
import { compiledBench, peersDirectory } from '../harness/paths.ts';
import { startTrunkline } from '../harness/trunkline-server.ts';
import { type LibraryProcess, startLibrary } from './library-process.ts';

const ours = 'Trunkline';
const warmUpCount = 1_000;

/** The Consumer with a handler that does nothing, and bulk sends, against job queues in the same database. */
export const library: Benchmark = {
  seconds: 5,
  quickSeconds: 0.5,
  async run(run) {
    const libraries = await startLibraries(run);
    const comparison = new Comparison(
      'Messages/s of the library',
      ours,
      libraries.map(({ name }) => name).filter((name) => name !== ours),
    );
    const counts = new Map<string, number>();
    for (const queue of libraries) {
      run.progress(`Warming up ${queue.name}`);
      let count = warmUpCount;
      // The first run is cold, so the larger ones after it say how many messages take as long as asked for.
      for (let time = 1; time <= 3; time += 1) {
        const { consumeSeconds } = await measure(queue, count);
        count = Math.ceil((count / consumeSeconds) * run.seconds);
      }
      counts.set(queue.name, count);
    }
    for (let round = 1; round <= run.rounds; round += 1) {
      for (const queue of libraries) {
        const count = counts.get(queue.name) ?? warmUpCount;
        run.progress(`Round ${round} of ${run.rounds}: ${queue.name}, ${count} messages`);
        const { enqueueSeconds, consumeSeconds } = await measure(queue, count);
        comparison.record('Send in thousands', queue.name, count / enqueueSeconds);
        comparison.record('Handle and acknowledge', queue.name, count / consumeSeconds);
      }
    }
    return {
      tables: [comparison.table()],
      comparisons: [comparison],
      notes: [
        'The time ends when the database has the last acknowledgement. pg-boss acknowledges a batch by one statement; Trunkline and graphile-worker each job by itself, put together on the way.',
      ],
    };
  },
};

async function measure(queue: LibraryProcess, count: number) {
  const enqueueSeconds = await queue.perform('enqueue', count);
  const consumeSeconds = await queue.perform('consume', count);
  await queue.perform('stopConsuming');
  return { enqueueSeconds, consumeSeconds };
}

/** Each on a database of its own. Trunkline's has a server for the maintenance, as it would in use. */
async function startLibraries(run: Run): Promise<LibraryProcess[]> {
  const oursUrl = await run.postgres.createDatabase('library_trunkline');
  await startTrunkline(oursUrl, run.closeAtEnd);
  const libraries = [
    await startLibrary(ours, compiledBench('library/trunkline.js'), oursUrl, run.closeAtEnd),
  ];
  for (const peer of ['pg-boss', 'graphile-worker']) {
    if (existsSync(resolve(peersDirectory, 'node_modules', peer))) {
      run.progress(`Starting ${peer}`);
      const url = await run.postgres.createDatabase(`library_${peer.replace('-', '_')}`);
      const module = resolve(peersDirectory, `${peer}.mjs`);
      libraries.push(await startLibrary(peer, module, url, run.closeAtEnd));
    }
  }
  return libraries;
}
