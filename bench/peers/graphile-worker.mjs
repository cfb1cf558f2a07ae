import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';

/** The batching of its own published measurement: https://worker.graphile.org/docs/performance */
const worker = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

const payload = { body: 'abcdefghijklmnop'.repeat(16) };
const logger = new Logger(() => () => {});

/** @param {string} connectionString */
export async function open(connectionString) {
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();

  async function isEmpty() {
    const { rows } = await utils.withPgClient((client) =>
      client.query('select not exists (select from graphile_worker._private_jobs) as is_empty'),
    );
    return rows[0].is_empty;
  }

  let runner;
  return {
    /** @param {number} count */
    async enqueue(count) {
      for (let sent = 0; sent < count; sent += 1_000) {
        const jobs = Array.from({ length: Math.min(1_000, count - sent) }, () => ({
          identifier: 'bench',
          payload,
        }));
        await utils.addJobs(jobs);
      }
    },
    /** @param {number} count */
    async consume(count) {
      let handled = 0;
      runner = await run({
        preset: { worker: { ...worker, connectionString, logger } },
        noHandleSignals: true,
        taskList: {
          bench: async () => {
            handled += 1;
          },
        },
      });
      while (handled < count || !(await isEmpty())) {
        await sleep(2);
      }
    },
    async stopConsuming() {
      await runner.stop();
    },
  };
}
