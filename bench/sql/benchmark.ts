import type { Client } from 'pg';
import type { Benchmark } from '../harness/benchmark.ts';
import { Comparison } from '../harness/comparison.ts';
import { runLoad } from '../harness/load.ts';
import { openClient } from '../harness/postgres.ts';
import { startTrunkline } from '../harness/trunkline-server.ts';
import { installPgmq } from './pgmq.ts';
import { rawStatements } from './raw-statements.ts';
import type { SqlQueue } from './sql-queue.ts';
import { trunklineFunctions } from './trunkline.ts';

/** The SQL door against what PostgreSQL could do at most, and against another queue in SQL. */
export const sql: Benchmark = {
  seconds: 2,
  quickSeconds: 0.2,
  async run(run) {
    const databaseUrl = await run.postgres.createDatabase('sql');
    // Does the maintenance, as in every installation.
    await startTrunkline(databaseUrl, run.closeAtEnd);
    const clients = [
      await openClient(databaseUrl, run.closeAtEnd),
      await openClient(databaseUrl, run.closeAtEnd),
    ];
    const [first] = clients;
    const queues: SqlQueue[] = [trunklineFunctions, rawStatements];
    if (first !== undefined && run.pgmq !== undefined) {
      queues.push(await installPgmq(first, run.pgmq));
    }
    const [ours, ...others] = queues.map(({ name }) => name);
    const comparison = new Comparison('Messages/s by SQL statements', ours ?? '', others);

    for (let round = 1; round <= run.rounds; round += 1) {
      for (const connections of [clients.slice(0, 1), clients]) {
        for (const size of [1, 10, 100]) {
          for (const queue of queues) {
            const what = `in ${size}, ${connections.length} connection${connections.length > 1 ? 's' : ''}`;
            run.progress(`Round ${round} of ${run.rounds}: ${queue.name}, ${what}`);
            const figures = await measure(queue, connections, size, run.seconds);
            comparison.record(`Send ${what}`, queue.name, figures.sent);
            comparison.record(`Receive + delete ${what}`, queue.name, figures.drained);
          }
        }
      }
    }
    return {
      tables: [comparison.table()],
      comparisons: [comparison],
      ...(run.pgmq === undefined && {
        notes: ['To compare with pgmq, give the path of its SQL file: --pgmq FILE.'],
      }),
    };
  },
};

async function measure(
  queue: SqlQueue,
  connections: readonly Client[],
  size: number,
  seconds: number,
): Promise<{ sent: number; drained: number }> {
  const [first] = connections;
  if (first !== undefined) {
    await queue.empty(first);
  }
  const sent = await runLoad({
    connections,
    seconds,
    step: (client) => queue.send(client, size),
  });
  const drained = await runLoad({
    connections,
    seconds,
    mostMessages: sent.messages,
    step: (client) => queue.drain(client, size),
  });
  if (first !== undefined) {
    await queue.empty(first);
  }
  return { sent: sent.messagesPerSecond, drained: drained.messagesPerSecond };
}
