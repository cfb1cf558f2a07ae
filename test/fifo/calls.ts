import { randomUUID } from 'node:crypto';
import type { Connection, Instant } from '../engine/calls.ts';

/** The engine's SQL functions of FIFO queues as the tests call them: on any connection, at any time. */

export interface Outgoing {
  group: string;
  deduplicationId: string | null;
  body?: string;
}

export interface Sent {
  messageId: string;
  sequence: bigint;
  refusal: string | null;
}

export interface Delivery {
  messageId: string;
  receiptHandle: string;
  group: string;
  body: string;
  sequence: bigint;
  receiveCount: number;
}

export interface ReceiveOptions {
  limit?: number;
  visibilityTimeoutSeconds?: number | undefined;
  inFlightLimit?: number;
  attemptId?: string | undefined;
  now?: Instant;
}

/** The documented quota of a FIFO queue. */
export const inFlightQuota = 20_000;

/** Columns of a queue that matter here. */
export interface Settings {
  visibility_timeout_seconds?: number;
  delay_seconds?: number;
  message_retention_seconds?: number;
  content_based_deduplication?: boolean;
  deduplication_scope?: 'queue' | 'messageGroup';
}

let lastQueue = 0;

export async function createFifoQueue(
  connection: Connection,
  settings: Settings = {},
): Promise<string> {
  lastQueue += 1;
  const { rows } = await connection.query<{ id: string }>(
    'insert into trunkline.queues (account_id, name, is_fifo) values ($1, $2, true) returning id',
    ['000000000000', `queue-${lastQueue}.fifo`],
  );
  const queueId = String(rows[0]?.id);
  await configure(connection, queueId, settings);
  return queueId;
}

export async function configure(
  connection: Connection,
  queueId: string,
  settings: Settings,
): Promise<void> {
  for (const [column, value] of Object.entries(settings)) {
    await connection.query(`update trunkline.queues set ${column} = $2 where id = $1`, [
      queueId,
      value,
    ]);
  }
}

export const sendCall = `trunkline._send_fifo_messages(
  trunkline._require_queue($1), $2, $3, $4, null, null, $5, $6, $7, $8, $9
)`;

export function sendParameters(
  queueId: string,
  messages: readonly Outgoing[],
  { mayWait = true, now }: { mayWait?: boolean; now?: Instant } = {},
): unknown[] {
  const bodies = messages.map(({ body, deduplicationId }) => body ?? deduplicationId ?? 'body');
  return [
    queueId,
    bodies.map(() => randomUUID()),
    bodies,
    bodies.map((body) => Buffer.byteLength(body)),
    messages.map(({ group }) => group),
    messages.map(({ deduplicationId }) => deduplicationId),
    messages.map(() => 'sender'),
    mayWait,
    now,
  ];
}

export async function sendAll(
  connection: Connection,
  queueId: string,
  messages: readonly Outgoing[],
  options: { mayWait?: boolean; now?: Instant } = {},
): Promise<Sent[]> {
  const { rows } = await connection.query<{
    message_id: string;
    sequence_number: string | null;
    refusal: string | null;
  }>(
    `select message_id, sequence_number, refusal from ${sendCall}`,
    sendParameters(queueId, messages, options),
  );
  return rows.map((row) => ({
    messageId: row.message_id,
    sequence: BigInt(row.sequence_number ?? 0),
    refusal: row.refusal,
  }));
}

/** Sends one message, whose body is its deduplication id. */
export async function send(
  connection: Connection,
  queueId: string,
  group: string,
  deduplicationId: string,
  options: { mayWait?: boolean; now?: Instant } = {},
): Promise<Sent> {
  const [sent] = await sendAll(connection, queueId, [{ group, deduplicationId }], options);
  if (sent === undefined) {
    throw new Error('The send answered nothing.');
  }
  return sent;
}

export async function receive(
  connection: Connection,
  queueId: string,
  options: ReceiveOptions = {},
): Promise<Delivery[]> {
  const { rows } = await connection.query<Omit<Delivery, 'sequence'> & { sequence: string }>(
    `select
      message_id as "messageId",
      receipt_handle as "receiptHandle",
      group_id as "group",
      body,
      sequence_number as "sequence",
      receive_count as "receiveCount"
    from trunkline._receive_fifo_messages(trunkline._require_queue($1), array[$2]::integer[], $3, $4, $5, $6)`,
    [
      queueId,
      options.limit ?? 10,
      options.visibilityTimeoutSeconds,
      options.inFlightLimit ?? inFlightQuota,
      options.attemptId,
      options.now,
    ],
  );
  return rows.map((row) => ({ ...row, sequence: BigInt(row.sequence) }));
}

/** The bodies that a receive gives, in order. */
export async function receiveBodies(
  connection: Connection,
  queueId: string,
  options: ReceiveOptions = {},
): Promise<string[]> {
  return (await receive(connection, queueId, options)).map(({ body }) => body);
}

/** @param isOwnTransaction true as the server calls it, false as an application's transaction does */
export async function deleteAll(
  connection: Connection,
  queueId: string,
  receiptHandles: readonly string[],
  { isOwnTransaction = false, now }: { isOwnTransaction?: boolean; now?: Instant } = {},
): Promise<string[]> {
  const { rows } = await connection.query<{ outcome: string }>(
    'select unnest(trunkline._delete_fifo_messages(trunkline._require_queue($1), $2, $3, $4)) as outcome',
    [queueId, receiptHandles, isOwnTransaction, now],
  );
  return rows.map((row) => row.outcome);
}

export async function changeVisibility(
  connection: Connection,
  queueId: string,
  changes: readonly { receiptHandle: string; timeoutSeconds: number }[],
  now?: Instant,
): Promise<string[]> {
  const { rows } = await connection.query<{ outcome: string }>(
    'select unnest(trunkline._change_fifo_visibility(trunkline._require_queue($1), $2, $3, p_now => $4)) as outcome',
    [
      queueId,
      changes.map((change) => change.receiptHandle),
      changes.map((change) => change.timeoutSeconds),
      now,
    ],
  );
  return rows.map((row) => row.outcome);
}

/** The janitor's run; answers how many rows went. */
export async function forgetHistory(
  connection: Connection,
  limit: number,
  now?: Instant,
): Promise<number> {
  const { rows } = await connection.query<{ forgotten: string }>(
    'select trunkline._forget_fifo_history($1, $2) as forgotten',
    [limit, now],
  );
  return Number(rows[0]?.forgotten);
}

/** What is known of the groups of a queue: which have a row, and what it says. */
export async function groupRows(
  connection: Connection,
  queueId: string,
): Promise<Record<string, 'in use' | 'drained' | 'empty'>> {
  const { rows } = await connection.query<{
    group_id: string;
    state: 'in use' | 'drained' | 'empty';
  }>(
    `select
      name.group_id,
      case when known.is_empty then 'empty' when known.drained_at is null then 'in use' else 'drained' end as state
    from trunkline.message_group_names as name
    full join trunkline.message_groups as known using (queue_id, group_id)
    where queue_id = $1`,
    [queueId],
  );
  return Object.fromEntries(rows.map((row) => [row.group_id, row.state]));
}
