import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { Consumer, DatabaseSource, Trunkline } from '../../src/client/index.ts';
import { messageBody } from '../harness/load.ts';
import { type Adapter, enqueueBatch } from './adapter.ts';

/** A Consumer on the database, with more at once than by default. Each message is deleted by its handler's end. */
export async function open(connectionString: string): Promise<Adapter> {
  const pool = new Pool({ connectionString });
  const trunkline = new Trunkline(pool);
  const queueName = 'bench';
  await trunkline.createQueue({ queueName });
  let consumer: Consumer | undefined;
  return {
    async enqueue(count) {
      for (let sent = 0; sent < count; sent += enqueueBatch) {
        const entries = Array.from({ length: Math.min(enqueueBatch, count - sent) }, () => ({
          messageBody,
        }));
        await trunkline.sendMessageBatch({ queueName, entries });
      }
    },
    async consume(count) {
      let handled = 0;
      consumer = new Consumer({
        source: new DatabaseSource(trunkline, queueName),
        concurrency: 1_000,
        batchSize: 500,
        async handler() {
          handled += 1;
        },
      });
      consumer.start();
      while (handled < count || !(await isEmpty(pool))) {
        await sleep(2);
      }
    },
    async stopConsuming() {
      await consumer?.stop();
    },
  };
}

/** Messages that are received but not acknowledged are still stored. */
async function isEmpty(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ is_empty: boolean }>(
    'select not exists (select from trunkline.messages) as is_empty',
  );
  return rows[0]?.is_empty === true;
}
