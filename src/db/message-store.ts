import { randomUUID } from 'node:crypto';
import type { Pool, QueryResultRow } from 'pg';
import type { MessageAttributes } from '../sqs/message-attributes.ts';
import type { QueueId } from './queue-store.ts';
import { runStatement } from './statement.ts';

export interface MessageToSend {
  body: string;
  sizeBytes: number;
  delaySeconds: number | undefined;
  attributes: MessageAttributes | undefined;
  traceHeader: string | undefined;
  groupId: string | undefined;
  senderId: string;
}

export interface FifoMessageToSend extends Omit<MessageToSend, 'delaySeconds' | 'groupId'> {
  groupId: string;
  /** Undefined: made from the body, where the queue does so. */
  deduplicationId: string | undefined;
}

export type SentFifoMessage =
  | { refusal: null; messageId: string; sequenceNumber: string }
  | { refusal: 'too_long'; maximumMessageSizeBytes: number }
  | { refusal: 'no_deduplication_id' };

export type SentMessage =
  | { messageId: string }
  | { messageId: undefined; maximumMessageSizeBytes: number };

export interface ReceivedMessage {
  messageId: string;
  receiptHandle: string;
  body: string;
  attributes: MessageAttributes | null;
  senderId: string;
  sentAt: Date;
  firstReceivedAt: Date;
  receiveCount: number;
  groupId: string | null;
  deduplicationId: string | null;
  sequenceNumber: string;
  traceHeader: string | null;
  deadLetterSourceArn: string | null;
}

/** Of FIFO queues only: expired. */
export type DeleteOutcome = 'deleted' | 'missing' | 'invalid' | 'expired' | 'busy';
export type ChangeOutcome = 'changed' | 'missing' | 'too_long' | 'invalid' | 'busy';

export interface ReceiveRequest {
  limit: number;
  /** Undefined: the queue's. */
  visibilityTimeoutSeconds: number | undefined;
  inFlightLimit: number;
}

export interface VisibilityChange {
  receiptHandle: string;
  timeoutSeconds: number;
}

/** PostgreSQL takes no text with U+0000. No receipt handle has one, nor is the empty text a handle. */
function storable(receiptHandle: string): string {
  return receiptHandle.includes('\0') ? '' : receiptHandle;
}

function attributesText({ attributes }: Pick<MessageToSend, 'attributes'>): string | undefined {
  return attributes && JSON.stringify(attributes);
}

/** Null for an array of nothing: most messages have no attributes, delay, trace or group, and an array costs either side. */
function arrayOf<Message, Value>(
  messages: readonly Message[],
  value: (message: Message) => Value | undefined,
): (Value | undefined)[] | null {
  const values = messages.map(value);
  return values.some((given) => given !== undefined) ? values : null;
}

const receivedColumns = `
  message_id as "messageId",
  receipt_handle as "receiptHandle",
  body,
  attributes,
  sender_id as "senderId",
  sent_at as "sentAt",
  first_received_at as "firstReceivedAt",
  receive_count as "receiveCount",
  group_id as "groupId",
  deduplication_id as "deduplicationId",
  sequence_number as "sequenceNumber",
  trace_header as "traceHeader",
  dead_letter_source_arn as "deadLetterSourceArn"`;

/**
 * The SQL functions on messages, typed. Each call is one statement and one transaction of its own; what the
 * functions promise is written in their files.
 */
export class MessageStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async sendMessages(queueId: QueueId, messages: readonly MessageToSend[]): Promise<SentMessage[]> {
    const messageIds = messages.map(() => randomUUID());
    const [row] = await runStatement<{ maximum_message_size_bytes: number }>(
      this.#pool,
      `select trunkline._send_messages(trunkline._require_queue($1), $2, $3, $4, $5, $6, $7, $8, $9)
        as maximum_message_size_bytes`,
      [
        queueId,
        messageIds,
        messages.map((message) => message.body),
        messages.map((message) => message.sizeBytes),
        arrayOf(messages, (message) => message.delaySeconds),
        arrayOf(messages, attributesText),
        arrayOf(messages, (message) => message.traceHeader),
        arrayOf(messages, (message) => message.groupId),
        messages.map((message) => message.senderId),
      ],
    );
    const maximumMessageSizeBytes = row?.maximum_message_size_bytes ?? 0;
    return messages.map(({ sizeBytes }, index) =>
      sizeBytes <= maximumMessageSizeBytes
        ? { messageId: messageIds[index] ?? '' }
        : { messageId: undefined, maximumMessageSizeBytes },
    );
  }

  /** Does not wait for a group that another transaction is sending to: that fails with TQ006. */
  async sendFifoMessages(
    queueId: QueueId,
    messages: readonly FifoMessageToSend[],
  ): Promise<SentFifoMessage[]> {
    const rows = await runStatement<{
      message_id: string;
      sequence_number: string;
      refusal: SentFifoMessage['refusal'];
      maximum_message_size_bytes: number;
    }>(
      this.#pool,
      `select sent.*, queue.maximum_message_size_bytes
      from trunkline._require_queue($1) as queue
      cross join lateral trunkline._send_fifo_messages(
        queue, $2, $3, $4, $5, $6, $7, $8, $9, p_may_wait => false
      ) as sent`,
      [
        queueId,
        messages.map(() => randomUUID()),
        messages.map((message) => message.body),
        messages.map((message) => message.sizeBytes),
        arrayOf(messages, attributesText),
        arrayOf(messages, (message) => message.traceHeader),
        messages.map((message) => message.groupId),
        messages.map((message) => message.deduplicationId),
        messages.map((message) => message.senderId),
      ],
    );
    return rows.map((row) => {
      switch (row.refusal) {
        case null:
          return {
            refusal: null,
            messageId: row.message_id,
            sequenceNumber: row.sequence_number,
          };
        case 'too_long':
          return {
            refusal: row.refusal,
            maximumMessageSizeBytes: row.maximum_message_size_bytes,
          };
        default:
          return { refusal: row.refusal };
      }
    });
  }

  async receiveMessages(queueId: QueueId, request: ReceiveRequest): Promise<ReceivedMessage[]> {
    return await runStatement<ReceivedMessage & QueryResultRow>(
      this.#pool,
      `select ${receivedColumns}
      from trunkline._receive_messages(trunkline._require_queue($1), $2, $3, $4)
      order by sequence_number`,
      [queueId, request.limit, request.visibilityTimeoutSeconds, request.inFlightLimit],
    );
  }

  /** For callers with limits of their own, each of which gets other message groups. */
  async receiveFifoMessages(
    queueId: QueueId,
    limits: readonly number[],
    request: Omit<ReceiveRequest, 'limit'>,
    attemptId?: string,
  ): Promise<ReceivedMessage[][]> {
    const rows = await runStatement<ReceivedMessage & QueryResultRow & { entry: number }>(
      this.#pool,
      `select entry, ${receivedColumns} from trunkline._receive_fifo_messages(
        trunkline._require_queue($1), $2, $3, $4, $5, p_is_own_transaction => true
      )`,
      [queueId, limits, request.visibilityTimeoutSeconds, request.inFlightLimit, attemptId],
    );
    const received: ReceivedMessage[][] = limits.map(() => []);
    for (const { entry, ...message } of rows) {
      received[entry - 1]?.push(message);
    }
    return received;
  }

  async deleteMessages(
    queueId: QueueId,
    receiptHandles: readonly string[],
  ): Promise<DeleteOutcome[]> {
    return await this.#outcomes<DeleteOutcome>(
      '_delete_messages(trunkline._require_queue($1), $2, p_is_own_transaction => true)',
      [queueId, receiptHandles.map(storable)],
    );
  }

  async deleteFifoMessages(
    queueId: QueueId,
    receiptHandles: readonly string[],
  ): Promise<DeleteOutcome[]> {
    return await this.#outcomes<DeleteOutcome>(
      '_delete_fifo_messages(trunkline._require_queue($1), $2, p_is_own_transaction => true)',
      [queueId, receiptHandles.map(storable)],
    );
  }

  async changeVisibility(
    queueId: QueueId,
    changes: readonly VisibilityChange[],
  ): Promise<ChangeOutcome[]> {
    return await this.#outcomes<ChangeOutcome>(
      '_change_visibility(trunkline._require_queue($1), $2, $3, p_is_own_transaction => true)',
      changeArguments(queueId, changes),
    );
  }

  async changeFifoVisibility(
    queueId: QueueId,
    changes: readonly VisibilityChange[],
  ): Promise<ChangeOutcome[]> {
    return await this.#outcomes<ChangeOutcome>(
      '_change_fifo_visibility(trunkline._require_queue($1), $2, $3, p_is_own_transaction => true)',
      changeArguments(queueId, changes),
    );
  }

  /** Of a function that answers one outcome for each receipt handle. */
  async #outcomes<Outcome extends string>(call: string, values: unknown[]): Promise<Outcome[]> {
    const [row] = await runStatement<{ outcomes: Outcome[] }>(
      this.#pool,
      `select trunkline.${call} as outcomes`,
      values,
    );
    return row?.outcomes ?? [];
  }
}

function changeArguments(queueId: QueueId, changes: readonly VisibilityChange[]): unknown[] {
  return [
    queueId,
    changes.map((change) => storable(change.receiptHandle)),
    changes.map((change) => change.timeoutSeconds),
  ];
}
