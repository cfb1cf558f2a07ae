import { randomUUID } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { TestDatabase } from '../support/database.ts';

/** The engine's SQL functions as the tests call them: on any connection, at any time. */

export type Connection = Pool | ClientBase;

/** Undefined: the database's clock. */
export type Instant = Date | undefined;

export interface Received {
  messageId: string;
  receiptHandle: string;
  body: string;
  sentAt: Date;
  firstReceivedAt: Date;
  receiveCount: number;
}

export interface Counts {
  visible: number;
  inFlight: number;
  delayed: number;
}

export interface ReceiveOptions {
  limit?: number;
  visibilityTimeoutSeconds?: number | undefined;
  inFlightLimit?: number;
  now?: Instant;
}

/** The documented quota of a standard queue. */
export const inFlightQuota = 120_000;

let lastQueue = 0;

/** A session of its own, so that a test can hold a transaction open. Closed after the test. */
export async function openSession(database: TestDatabase): Promise<Client> {
  const session = new Client({
    connectionString: database.url,
    application_name: 'trunkline test',
  });
  await session.connect();
  onTestFinished(() => session.end());
  return session;
}

/** The attributes that the engine goes by, as columns of the queue's row. */
export interface QueueAttributes {
  visibility_timeout_seconds: number;
  delay_seconds: number;
  message_retention_seconds: number;
}

export async function createQueue(
  connection: Connection,
  attributes: Partial<QueueAttributes> = {},
  name = `queue-${++lastQueue}`,
): Promise<string> {
  const { rows } = await connection.query<{ id: string }>(
    `insert into trunkline.queues (
      account_id, name, visibility_timeout_seconds, delay_seconds, message_retention_seconds
    )
    values ('000000000000', $1, coalesce($2, 30), coalesce($3, 0), coalesce($4, 345600))
    returning id`,
    [
      name,
      attributes.visibility_timeout_seconds,
      attributes.delay_seconds,
      attributes.message_retention_seconds,
    ],
  );
  return String(rows[0]?.id);
}

export async function setAttributes(
  connection: Connection,
  queueId: string,
  attributes: QueueAttributes,
): Promise<void> {
  await connection.query(
    `update trunkline.queues
    set visibility_timeout_seconds = $2, delay_seconds = $3, message_retention_seconds = $4
    where id = $1`,
    [
      queueId,
      attributes.visibility_timeout_seconds,
      attributes.delay_seconds,
      attributes.message_retention_seconds,
    ],
  );
}

export const sendCall = `trunkline._send_messages(
  trunkline._require_queue($1), $2, $3, $4, $5, null, null, null, $6, $7
)`;

export function sendParameters(
  queueId: string,
  bodies: readonly string[],
  options: {
    delaysSeconds?: readonly (number | undefined)[];
    now?: Instant;
    messageIds?: readonly string[];
  } = {},
): unknown[] {
  return [
    queueId,
    options.messageIds ?? bodies.map(() => randomUUID()),
    bodies,
    bodies.map((body) => Buffer.byteLength(body)),
    options.delaysSeconds,
    bodies.map(() => 'sender'),
    options.now,
  ];
}

/** Sends one message for each body and answers their ids. */
export async function send(
  connection: Connection,
  queueId: string,
  bodies: readonly string[],
  options: { delaysSeconds?: readonly (number | undefined)[]; now?: Instant } = {},
): Promise<string[]> {
  const messageIds = bodies.map(() => randomUUID());
  await connection.query(
    `select ${sendCall}`,
    sendParameters(queueId, bodies, { ...options, messageIds }),
  );
  return messageIds;
}

export async function receive(
  connection: Connection,
  queueId: string,
  options: ReceiveOptions = {},
): Promise<Received[]> {
  const { rows } = await connection.query<Received>(
    `select
      message_id as "messageId",
      receipt_handle as "receiptHandle",
      body,
      sent_at as "sentAt",
      first_received_at as "firstReceivedAt",
      receive_count as "receiveCount"
    from trunkline._receive_messages(trunkline._require_queue($1), $2, $3, $4, $5)`,
    [
      queueId,
      options.limit ?? 10,
      options.visibilityTimeoutSeconds,
      options.inFlightLimit ?? inFlightQuota,
      options.now,
    ],
  );
  return rows;
}

/** Receives one message, which has to be there. */
export async function receiveOne(
  connection: Connection,
  queueId: string,
  options: ReceiveOptions = {},
): Promise<Received> {
  const [message] = await receive(connection, queueId, { ...options, limit: 1 });
  if (message === undefined) {
    throw new Error('There is no message to receive.');
  }
  return message;
}

export async function bodiesOf(received: Promise<Received[]>): Promise<string[]> {
  return (await received).map(({ body }) => body).sort();
}

export async function deleteMessages(
  connection: Connection,
  queueId: string,
  receiptHandles: readonly (string | null)[],
): Promise<string[]> {
  const { rows } = await connection.query<{ outcome: string }>(
    'select unnest(trunkline._delete_messages(trunkline._require_queue($1), $2)) as outcome',
    [queueId, receiptHandles],
  );
  return rows.map((row) => row.outcome);
}

export async function changeVisibility(
  connection: Connection,
  queueId: string,
  changes: readonly { receiptHandle: string | null; timeoutSeconds: number }[],
  now?: Instant,
): Promise<string[]> {
  const { rows } = await connection.query<{ outcome: string }>(
    'select unnest(trunkline._change_visibility(trunkline._require_queue($1), $2, $3, $4)) as outcome',
    [
      queueId,
      changes.map((change) => change.receiptHandle),
      changes.map((change) => change.timeoutSeconds),
      now,
    ],
  );
  return rows.map((row) => row.outcome);
}

export async function countMessages(
  connection: Connection,
  queueId: string,
  now?: Instant,
): Promise<Counts> {
  const { rows } = await connection.query<{ visible: string; in_flight: string; delayed: string }>(
    'select * from trunkline._queue_counts($1, $2)',
    [queueId, now],
  );
  return {
    visible: Number(rows[0]?.visible),
    inFlight: Number(rows[0]?.in_flight),
    delayed: Number(rows[0]?.delayed),
  };
}

/** Answers the queue's new id. */
export async function purgeQueue(
  connection: Connection,
  queueId: string,
  now?: Instant,
): Promise<string> {
  const { rows } = await connection.query<{ id: string }>(
    'select trunkline._purge_queue($1, $2) as id',
    [queueId, now],
  );
  return String(rows[0]?.id);
}

export async function deleteQueue(
  connection: Connection,
  queueId: string,
  now?: Instant,
): Promise<void> {
  await connection.query('select trunkline._delete_queue($1, $2)', [queueId, now]);
}

export async function settle(connection: Connection, now?: Instant): Promise<boolean> {
  const { rows } = await connection.query<{ folded: string | null }>(
    'select trunkline._settle($1) as folded',
    [now],
  );
  return typeof rows[0]?.folded === 'string';
}

/** Settles what has been written to a queue by now, as soon as no transaction of another test holds that up. */
export async function settleAll(connection: Connection, queueId: string): Promise<void> {
  const { rows } = await connection.query<{ id: string }>(
    'insert into trunkline.count_deltas (queue_id, added, removed) values ($1, 0, 0) returning id',
    [queueId],
  );
  await expect
    .poll(
      async () => {
        await settle(connection);
        const { rowCount } = await connection.query(
          'select from trunkline.count_deltas where id = $1',
          [rows[0]?.id],
        );
        return rowCount;
      },
      { timeout: 40_000, interval: 20 },
    )
    .toBe(0);
}

/** Answers the queues whose mark was lowered. */
export async function rescan(connection: Connection): Promise<string[]> {
  const { rows } = await connection.query<{ queue_id: string }>(
    'select queue_id from trunkline._rescan_low_water_marks()',
  );
  return rows.map((row) => row.queue_id);
}

export async function expireMessages(
  connection: Connection,
  limit: number,
  now?: Instant,
): Promise<number> {
  const { rows } = await connection.query<{ removed: string }>(
    'select trunkline._expire_messages($1, $2) as removed',
    [limit, now],
  );
  return Number(rows[0]?.removed);
}

export async function clearDiscardedQueues(
  connection: Connection,
  limit: number,
  now?: Instant,
): Promise<number> {
  const { rows } = await connection.query<{ removed: string }>(
    'select trunkline._clear_discarded_queues($1, $2) as removed',
    [limit, now],
  );
  return Number(rows[0]?.removed);
}

/** How many message rows lie under a queue's id, whatever their state. */
export async function countRows(connection: Connection, queueId: string): Promise<number> {
  const { rows } = await connection.query<{ count: string }>(
    'select count(*) from trunkline.messages where queue_id = $1',
    [queueId],
  );
  return Number(rows[0]?.count);
}
