import { clearDeletedQueues } from '../harness/clear.ts';
import { messageBody } from '../harness/load.ts';
import type { SqlQueue } from './sql-queue.ts';

const queueName = 'bench';

/** The public functions, as a program of any language calls them. */
export const trunklineFunctions: SqlQueue = {
  name: 'Trunkline',
  async empty(client) {
    await client.query(
      `select trunkline.delete_queue(name) from trunkline.list_queues() as name where name = $1`,
      [queueName],
    );
    await clearDeletedQueues(client);
    await client.query('select trunkline.create_queue($1)', [queueName]);
  },
  async send(client, count) {
    await client.query({
      name: 'trunkline_send',
      text: 'select * from trunkline.send_message_batch($1, $2)',
      values: [queueName, Array.from({ length: count }, () => messageBody)],
    });
    return count;
  },
  async drain(client, count) {
    const { rows } = await client.query<{ receipt_handle: string }>({
      name: 'trunkline_receive',
      text: `select * from trunkline.receive_message($1, $2, '10 minutes')`,
      values: [queueName, count],
    });
    if (rows.length > 0) {
      await client.query({
        name: 'trunkline_delete',
        text: 'select trunkline.delete_message_batch($1, $2)',
        values: [queueName, rows.map((row) => row.receipt_handle)],
      });
    }
    return rows.length;
  },
};
