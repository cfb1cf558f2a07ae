import type { Client } from 'pg';
import { messageBody } from '../harness/load.ts';

/** Messages in one statement. */
const fillBatch = 10_000;

/**
 * Fills queues by the functions below the public ones, which leave out the checks of each message: ten million
 * of them would take most of the time.
 */
async function inBatches(count: number, fill: (from: number, to: number) => Promise<unknown>) {
  for (let from = 1; from <= count; from += fillBatch) {
    await fill(from, Math.min(from + fillBatch - 1, count));
  }
}

export async function createQueue(client: Client, isFifo = false): Promise<string> {
  const name = isFifo ? 'bench.fifo' : 'bench';
  const attributes = {
    VisibilityTimeout: '43200',
    MessageRetentionPeriod: '1209600',
    ...(isFifo && { FifoQueue: 'true' }),
  };
  await client.query('select trunkline.create_queue($1, $2)', [name, JSON.stringify(attributes)]);
  return name;
}

export async function fillStandard(client: Client, count: number, delaySeconds = 0): Promise<void> {
  await inBatches(count, (from, to) =>
    client.query(
      `select count(*)
      from (
        select
          array_agg($3::text) as bodies,
          array_agg(gen_random_uuid()) as message_ids,
          array_agg(256) as sizes,
          array_agg($4::integer) as delays,
          array_agg('000000000000'::text) as senders
        from generate_series($1::integer, $2::integer)
      ) as given
      cross join trunkline.queues as queue
      cross join lateral trunkline._send_messages(
        queue, given.message_ids, given.bodies, given.sizes, given.delays, null, null, null, given.senders
      )`,
      [from, to, messageBody, delaySeconds],
    ),
  );
}

/** Messages that go round the groups, named after a prefix. */
export async function fillFifo(
  client: Client,
  count: number,
  groups: number,
  prefix = '',
): Promise<void> {
  await inBatches(count, (from, to) =>
    client.query(
      `select count(*)
      from (
        select
          array_agg($3::text) as bodies,
          array_agg(gen_random_uuid()) as message_ids,
          array_agg(256) as sizes,
          array_agg($5::text || number % $4::integer order by number) as groups,
          array_agg($5::text || number order by number) as deduplication_ids,
          array_agg('000000000000'::text) as senders
        from generate_series($1::integer, $2::integer) as number
      ) as given
      cross join trunkline.queues as queue
      cross join lateral trunkline._send_fifo_messages(
        queue, given.message_ids, given.bodies, given.sizes, null, null, given.groups, given.deduplication_ids, given.senders
      )`,
      [from, to, messageBody, groups, prefix],
    ),
  );
}

/** Puts so many messages in flight, by the public function. */
export async function receiveMany(client: Client, queueName: string, count: number): Promise<void> {
  for (let received = 0; received < count; ) {
    const { rowCount } = await client.query('select from trunkline.receive_message($1, $2)', [
      queueName,
      Math.min(1_000, count - received),
    ]);
    if (!rowCount) {
      return;
    }
    received += rowCount;
  }
}

/** Moves the low-water marks and folds the counts, which a server does several times in a second. */
export async function settle(client: Client): Promise<void> {
  // The first makes a candidate of the present, the second settles it.
  for (let time = 0; time < 2; time += 1) {
    await client.query('select trunkline._settle()');
  }
}
