import { randomUUID } from 'node:crypto';
import { clearDeletedQueues } from '../harness/clear.ts';
import { messageBody } from '../harness/load.ts';
import type { SqlQueue } from './sql-queue.ts';

/** The public functions, as a program of any language calls them. */
export const trunklineFunctions = queueOf('Trunkline', 'bench', {}, (count) => [
  Array.from({ length: count }, () => messageBody),
]);

/** The same with a FIFO queue of a hundred groups. */
export const trunklineFifoFunctions = queueOf(
  'Trunkline FIFO',
  'bench.fifo',
  { FifoQueue: 'true' },
  (count) => [
    Array.from({ length: count }, () => messageBody),
    null,
    null,
    Array.from({ length: count }, () => String(Math.floor(Math.random() * 100))),
    Array.from({ length: count }, () => randomUUID()),
  ],
);

/** @param toArguments what send_message_batch takes after the queue's name */
function queueOf(
  name: string,
  queueName: string,
  attributes: Record<string, string>,
  toArguments: (count: number) => unknown[],
): SqlQueue {
  return {
    name,
    async empty(client) {
      await client.query(
        `select trunkline.delete_queue(name) from trunkline.list_queues() as name where name = $1`,
        [queueName],
      );
      await clearDeletedQueues(client);
      await client.query('select trunkline.create_queue($1, $2)', [
        queueName,
        JSON.stringify(attributes),
      ]);
    },
    async send(client, count) {
      const values = [queueName, ...toArguments(count)];
      await client.query({
        name: `send to ${queueName}`,
        text: `select * from trunkline.send_message_batch(${values.map((_, index) => `$${index + 1}`)})`,
        values,
      });
      return count;
    },
    async drain(client, count) {
      const { rows } = await client.query<{ receipt_handle: string }>({
        name: 'receive',
        text: `select receipt_handle, body from trunkline.receive_message($1, $2, '10 minutes')`,
        values: [queueName, count],
      });
      if (rows.length > 0) {
        await client.query({
          name: 'delete',
          text: 'select trunkline.delete_message_batch($1, $2)',
          values: [queueName, rows.map((row) => row.receipt_handle)],
        });
      }
      return rows.length;
    },
  };
}
