import { randomUUID } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';

/** The public SQL functions as an application calls them: by name, with named arguments. */

export type Connection = Pool | ClientBase;

export interface SqlReceived {
  message_id: string;
  receipt_handle: string;
  body: string;
  md5_of_body: string;
  message_attributes: Record<string, Record<string, string>> | null;
  md5_of_message_attributes: string | null;
  sender_id: string;
  sent_at: Date;
  first_received_at: Date;
  receive_count: number;
  message_group_id: string | null;
  message_deduplication_id: string | null;
  sequence_number: string | null;
  trace_header: string | null;
  dead_letter_queue_source_arn: string | null;
}

export interface SqlSent {
  message_id: string;
  sequence_number: string | null;
  md5_of_message_body: string;
  md5_of_message_attributes: string | null;
}

/** Calls a function of the schema; arguments that are undefined keep their defaults. */
export async function call<Row extends object>(
  connection: Connection,
  name: string,
  given: Record<string, unknown>,
): Promise<Row[]> {
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  const list = named.map(([argument], index) => `${argument} => $${index + 1}`).join(', ');
  const { rows } = await connection.query<Row>(
    `select * from trunkline.${name}(${list})`,
    named.map(([, value]) => value),
  );
  return rows;
}

export async function createQueue(
  connection: Connection,
  attributes: Record<string, unknown> = {},
): Promise<string> {
  const isFifo = attributes['FifoQueue'] === true;
  const queueName = `${randomUUID()}${isFifo ? '.fifo' : ''}`;
  await call(connection, 'create_queue', {
    queue_name: queueName,
    attributes: JSON.stringify(attributes),
  });
  return queueName;
}

export async function send(
  connection: Connection,
  queueName: string,
  body: string,
  options: {
    delay?: string;
    message_attributes?: string;
    message_group_id?: string;
    message_deduplication_id?: string;
    trace_header?: string;
  } = {},
): Promise<SqlSent> {
  const given = { queue_name: queueName, message_body: body, ...options };
  return only(await call<SqlSent>(connection, 'send_message', given));
}

export async function receive(
  connection: Connection,
  queueName: string,
  options: { max_number_of_messages?: number; visibility_timeout?: string } = {},
): Promise<SqlReceived[]> {
  return await call<SqlReceived>(connection, 'receive_message', {
    queue_name: queueName,
    ...options,
  });
}

/** The one message that a receive must give. */
export async function receiveOne(
  connection: Connection,
  queueName: string,
  options: { visibility_timeout?: string } = {},
): Promise<SqlReceived> {
  return only(await receive(connection, queueName, options));
}

export async function deleteMessage(
  connection: Connection,
  queueName: string,
  receiptHandle: string | null,
): Promise<void> {
  await call(connection, 'delete_message', {
    queue_name: queueName,
    receipt_handle: receiptHandle,
  });
}

/** As if so much time had passed for the messages of a queue that are in flight. */
export async function letTimePass(
  connection: Connection,
  queueName: string,
  interval: string,
): Promise<void> {
  await connection.query(
    `with queue as (
      select id from trunkline.queues where name = $1
    ),
    messages as (
      update trunkline.messages as message
      set visible_at = visible_at - $2::interval
      from queue
      where message.queue_id = queue.id
    )
    update trunkline.message_groups as known
    set visible_at = visible_at - $2::interval
    from queue
    where known.queue_id = queue.id`,
    [queueName, interval],
  );
}

export function only<Value>(values: readonly Value[]): Value {
  const [value, ...others] = values;
  if (value === undefined || others.length > 0) {
    throw new Error(`Expected one, got ${values.length}.`);
  }
  return value;
}
