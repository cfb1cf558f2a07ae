import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { Consumer, DatabaseSource, Trunkline } from 'trunkline';

/**
 * Books payments. The booking and the deletion of its message are one transaction: if the worker dies before
 * the commit, neither has happened and the message comes again; if it dies after, the message is gone.
 *
 *   DATABASE_URL=postgresql://… node worker.mjs
 */

const queueName = 'payments';
const concurrency = 5;
// A transaction for each message at work, and room for receiving and heartbeats.
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: concurrency + 2 });
// Without a listener, the process ends when the database closes an idle connection; the pool opens a new one.
pool.on('error', (error) => process.stderr.write(`idle connection lost: ${error.message}\n`));
const trunkline = new Trunkline(pool);

await pool.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'));
await trunkline.createQueue({ queueName });

const consumer = new Consumer({
  source: new DatabaseSource(trunkline, queueName),
  concurrency,
  visibilityTimeout: 2,
  stopOnSignals: ['SIGTERM', 'SIGINT'],
  async transactionalHandler({ messageId, body }, client) {
    const { account, amount } = JSON.parse(body);
    await client.query(
      `insert into accounts as account (name, balance) values ($1, $2)
      on conflict (name) do update set balance = account.balance + excluded.balance`,
      [account, amount],
    );
    await client.query('insert into bookings values ($1, $2, $3)', [messageId, account, amount]);
  },
});
consumer.on('deleted', ({ messageId }) => process.stdout.write(`booked ${messageId}\n`));
consumer.on('failed', ({ messageId }, error, { retryInSeconds }) => {
  process.stderr.write(`${messageId} failed, again in ${retryInSeconds} s: ${error.message}\n`);
});
consumer.on('error', (error, { during }) => {
  process.stderr.write(`${during}: ${error.message}\n`);
});

await consumer.run();
await pool.end();
