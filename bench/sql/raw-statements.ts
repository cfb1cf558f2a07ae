import { messageBody } from '../harness/load.ts';
import type { SqlQueue } from './sql-queue.ts';

/** What a queue cannot do without, on a plain table: no attributes, counts, receipts or retention. */
export const rawStatements: SqlQueue = {
  name: 'raw statements',
  async empty(client) {
    await client.query(`
      create table if not exists raw_messages (
        id bigint primary key generated always as identity,
        visible_at timestamptz not null default clock_timestamp(),
        body text not null
      )`);
    await client.query(
      'create index if not exists raw_messages_visible_at on raw_messages (visible_at)',
    );
    await client.query('truncate raw_messages');
  },
  async send(client, count) {
    await client.query({
      name: 'raw_send',
      text: 'insert into raw_messages (body) select unnest($1::text[]) returning id',
      values: [Array.from({ length: count }, () => messageBody)],
    });
    return count;
  },
  async drain(client, count) {
    const { rows } = await client.query<{ id: string }>({
      name: 'raw_receive',
      text: `
        with claimed as materialized (
          select id
          from raw_messages
          where visible_at <= clock_timestamp()
          order by visible_at
          limit $1
          for update skip locked
        )
        update raw_messages
        set visible_at = clock_timestamp() + interval '10 minutes'
        where id = any (array(select id from claimed))
        returning id, body`,
      values: [count],
    });
    if (rows.length > 0) {
      await client.query({
        name: 'raw_delete',
        text: 'delete from raw_messages where id = any ($1::bigint[])',
        values: [rows.map(({ id }) => id)],
      });
    }
    return rows.length;
  },
};
