import type { Client } from 'pg';
import { messageBody } from '../harness/load.ts';
import type { SqlQueue } from './sql-queue.ts';

/** pgmq, installed without its extension from the SQL file of a release. */
export async function installPgmq(client: Client, statements: string): Promise<SqlQueue> {
  await client.query(`create schema pgmq; ${statements}`);
  await client.query(`select pgmq.create('bench')`);
  return pgmq;
}

const pgmq: SqlQueue = {
  name: 'pgmq',
  async empty(client) {
    await client.query(`select pgmq.purge_queue('bench')`);
  },
  async send(client, count) {
    await client.query({
      name: 'pgmq_send',
      text: `select * from pgmq.send_batch('bench', $1::jsonb[])`,
      values: [Array.from({ length: count }, () => JSON.stringify(messageBody))],
    });
    return count;
  },
  async drain(client, count) {
    const { rows } = await client.query<{ msg_id: string }>({
      name: 'pgmq_read',
      text: `select msg_id, message from pgmq.read('bench', 600, $1)`,
      values: [count],
    });
    if (rows.length > 0) {
      await client.query({
        name: 'pgmq_delete',
        text: `select * from pgmq.delete('bench', $1::bigint[])`,
        values: [rows.map((row) => row.msg_id)],
      });
    }
    return rows.length;
  },
};
