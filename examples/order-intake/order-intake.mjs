import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { Trunkline } from 'trunkline';

/**
 * Takes orders. An order and the message that has it confirmed commit together: there is no order that nobody
 * confirms, and no confirmation of an order that does not exist.
 *
 *   DATABASE_URL=postgresql://… node order-intake.mjs '{"customer": "Ada", "lines": {"tea": 2}}'
 */

const queueName = 'order-confirmations';
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
// Without a listener, the process ends when the database closes an idle connection; the pool opens a new one.
pool.on('error', (error) => process.stderr.write(`idle connection lost: ${error.message}\n`));
const trunkline = new Trunkline(pool);

async function placeOrder({ customer, lines }) {
  return await trunkline.transaction(async (client) => {
    const { rows } = await client.query('insert into orders (customer) values ($1) returning id', [
      customer,
    ]);
    const orderId = rows[0].id;
    await trunkline.sendMessage(
      { queueName, messageBody: JSON.stringify({ orderId, customer }) },
      client,
    );
    // A quantity that the table refuses takes back the order and the message, already sent as it may seem.
    for (const [article, quantity] of Object.entries(lines)) {
      await client.query('insert into order_lines values ($1, $2, $3)', [
        orderId,
        article,
        quantity,
      ]);
    }
    return orderId;
  });
}

try {
  await pool.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'));
  await trunkline.createQueue({ queueName });
  const orderId = await placeOrder(JSON.parse(process.argv[2]));
  process.stdout.write(`Placed order ${orderId}.\n`);
} catch (error) {
  process.stderr.write(`No order: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  await pool.end();
}
