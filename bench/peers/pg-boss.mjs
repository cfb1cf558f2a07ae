import { setTimeout as sleep } from 'node:timers/promises';
import { PgBoss } from 'pg-boss';

/** Large batches, fetched one after the other while they are full, by two workers. */
const options = {
  batchSize: 500,
  localConcurrency: 2,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
};

const queue = 'bench';
const data = { body: 'abcdefghijklmnop'.repeat(16) };

/** @param {string} connectionString */
export async function open(connectionString) {
  const boss = new PgBoss(connectionString);
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue(queue);

  async function isEmpty() {
    const { rows } = await boss
      .getDb()
      .executeSql(
        `select not exists (select from pgboss.job where name = '${queue}' and state < 'completed') as is_empty`,
      );
    return rows[0].is_empty;
  }

  return {
    /** @param {number} count */
    async enqueue(count) {
      for (let sent = 0; sent < count; sent += 1_000) {
        const jobs = Array.from({ length: Math.min(1_000, count - sent) }, () => ({ data }));
        await boss.insert(queue, jobs);
      }
    },
    /** @param {number} count */
    async consume(count) {
      let handled = 0;
      await boss.work(queue, options, async (jobs) => {
        handled += jobs.length;
      });
      while (handled < count || !(await isEmpty())) {
        await sleep(2);
      }
    },
    async stopConsuming() {
      await boss.offWork(queue);
      await boss.deleteStoredJobs(queue);
    },
  };
}
