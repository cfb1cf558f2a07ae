import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Trunkline } from '../../src/client/index.ts';
import { useDatabase } from '../support/database.ts';
import { isInstalled, startProgram, useCompiledPackage } from './programs.ts';

const database = useDatabase();
const trunkline = new Trunkline(database.pool);
const compiled = useCompiledPackage();

async function run(command: string, ...arguments_: string[]) {
  const program = startProgram(command, arguments_, { databaseUrl: database.url });
  const exitCode = await program.ended;
  return { exitCode, output: program.output() };
}

async function count(table: string): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*)::integer as count from ${table}`,
  );
  return rows[0]?.count ?? 0;
}

describe('The example order-intake', () => {
  const place = (order: object) =>
    run(
      'node',
      join(compiled.directory, 'examples/order-intake/order-intake.mjs'),
      JSON.stringify(order),
    );

  it('commits an order together with its message, and nothing of one that is refused', async () => {
    expect(await place({ customer: 'Ada', lines: { tea: 2, milk: 1 } })).toEqual({
      exitCode: 0,
      output: 'Placed order 1.\n',
    });
    const refused = await place({ customer: 'Grace', lines: { tea: 1, milk: 0 } });
    expect(refused.exitCode).toBe(1);
    expect(refused.output).toContain('violates check constraint');

    expect(await count('orders')).toBe(1);
    const messages = await trunkline.receiveMessages({
      queueName: 'order-confirmations',
      maxNumberOfMessages: 10,
    });
    expect(messages.map(({ body }) => JSON.parse(body))).toEqual([
      { orderId: '1', customer: 'Ada' },
    ]);
  });
});

describe('The example exactly-once-worker', () => {
  const queueName = 'payments';

  it('books each payment once, however often workers are killed', async () => {
    const payments = 1_500;
    await trunkline.createQueue({ queueName });
    await trunkline.sendMessageBatch({
      queueName,
      entries: Array.from({ length: payments }, (_, index) => ({
        messageBody: JSON.stringify({ account: `account ${index % 50}`, amount: index }),
      })),
    });
    const startWorker = () =>
      startProgram('node', [join(compiled.directory, 'examples/exactly-once-worker/worker.mjs')], {
        databaseUrl: database.url,
      });
    let booked = 0;
    for (let kill = 1; kill <= 4; kill += 1) {
      const worker = startWorker();
      await expect
        .poll(() => worker.output(), { timeout: 20_000, interval: 5 })
        .toContain('booked');
      worker.child.kill('SIGKILL');
      await worker.ended;
      booked = await count('bookings');
    }
    expect(booked).toBeLessThan(payments);

    const survivor = startWorker();
    await expect
      .poll(() => trunkline.getQueueAttributes({ queueName }), { timeout: 25_000 })
      .toMatchObject({
        ApproximateNumberOfMessages: '0',
        ApproximateNumberOfMessagesNotVisible: '0',
      });
    survivor.child.kill('SIGTERM');
    expect(await survivor.ended).toBe(0);

    const { rows } = await database.pool.query(
      `select
        (select count(*) from bookings)::integer as bookings,
        (select count(distinct message_id) from bookings)::integer as messages,
        (select sum(amount) from bookings)::integer as booked,
        (select sum(balance) from accounts)::integer as balance`,
    );
    const total = (payments * (payments - 1)) / 2;
    expect(rows).toEqual([
      { bookings: payments, messages: payments, booked: total, balance: total },
    ]);
  }, 60_000);
});

const missing = ['python3', 'psql'].filter((program) => !isInstalled(program));
const reason = missing.length > 0 ? ` (skipped: ${missing.join(' and ')} not installed)` : '';

describe.skipIf(missing.length > 0)(`The example in Python${reason}`, () => {
  const program = resolve(import.meta.dirname, '../../examples/python/orders.py');

  it('places orders and confirms them', async () => {
    expect((await run('python3', program, 'place', "Ada O'Hara")).output).toBe('placed order 1\n');
    expect((await run('python3', program, 'place', 'Grace')).output).toBe('placed order 2\n');
    expect(await run('python3', program, 'confirm')).toEqual({
      exitCode: 0,
      output: 'confirmed order 1\nconfirmed order 2\n',
    });
    const { rows } = await database.pool.query(
      'select customer, confirmed_at is not null as is_confirmed from python_orders order by id',
    );
    expect(rows).toEqual([
      { customer: "Ada O'Hara", is_confirmed: true },
      { customer: 'Grace', is_confirmed: true },
    ]);
  });
});
