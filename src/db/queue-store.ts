import type { Kysely } from 'kysely';
import type { Pool, QueryResultRow } from 'pg';
import type { MessageAttributes } from '../sqs/message-attributes.ts';
import type { QueueAddress } from '../sqs/queue-address.ts';
import type { Database } from './schema.ts';
import { isConflict } from './sqlstate.ts';

/** A queue's present contents; changes when the queue is purged. A bigint, kept as text. */
export type QueueId = string;

export interface Queue extends QueueAddress {
  id: QueueId;
  isFifo: boolean;
  receiveWaitSeconds: number;
  hasContentBasedDeduplication: boolean;
}

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

export type DeleteOutcome = 'deleted' | 'missing' | 'invalid';
export type FifoDeleteOutcome = DeleteOutcome | 'expired';
export type ChangeOutcome = 'changed' | 'missing' | 'too_long' | 'invalid';

export interface ReceiveRequest {
  limit: number;
  /** Undefined: the queue's. */
  visibilityTimeoutSeconds: number | undefined;
  inFlightLimit: number;
}

export interface FifoReceiveRequest extends ReceiveRequest {
  attemptId: string | undefined;
}

export interface VisibilityChange {
  receiptHandle: string;
  timeoutSeconds: number;
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

/** How often a statement that lost a deadlock is run again: losing twice in a row is rare already. */
const conflictRetries = 3;

/**
 * The engine's SQL functions, typed. Each call is one statement and one transaction of its own; what the
 * functions promise is written in their files.
 */
export class QueueStore {
  readonly #pool: Pool;
  readonly #database: Kysely<Database>;

  constructor(pool: Pool, database: Kysely<Database>) {
    this.#pool = pool;
    this.#database = database;
  }

  async #call<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const result = await this.#pool.query<Row>(text, values);
        return result.rows;
      } catch (error) {
        if (!isConflict(error) || attempt > conflictRetries) {
          throw error;
        }
      }
    }
  }

  /** Tells SQL users, who do not say so in each call, what this server is configured for. */
  async saveSettings(settings: {
    accountId: string;
    region: string;
    inFlightLimits: { standard: number; fifo: number };
  }): Promise<void> {
    await this.#call(
      `update trunkline.settings
      set account_id = $1, region = $2, in_flight_limit_standard = $3, in_flight_limit_fifo = $4
      where (account_id, region, in_flight_limit_standard, in_flight_limit_fifo)
        is distinct from ($1, $2, $3, $4)`,
      [
        settings.accountId,
        settings.region,
        settings.inFlightLimits.standard,
        settings.inFlightLimits.fifo,
      ],
    );
  }

  async findQueue({ accountId, name }: QueueAddress): Promise<Queue | undefined> {
    const row = await this.#database
      .selectFrom('trunkline.queues')
      .select(['id', 'is_fifo', 'receive_wait_seconds', 'content_based_deduplication'])
      .where('account_id', '=', accountId)
      .where('name', '=', name)
      .executeTakeFirst();
    return row === undefined
      ? undefined
      : {
          id: row.id,
          accountId,
          name,
          isFifo: row.is_fifo,
          receiveWaitSeconds: row.receive_wait_seconds,
          hasContentBasedDeduplication: row.content_based_deduplication,
        };
  }

  /** Names in order, those after `after` if given. */
  async listQueueNames(query: {
    accountId: string;
    prefix: string;
    after: string | undefined;
    limit: number;
  }): Promise<string[]> {
    const rows = await this.#database
      .selectFrom('trunkline.queues')
      .select('name')
      .where('account_id', '=', query.accountId)
      .where((where) => where.fn('starts_with', ['name', where.val(query.prefix)]))
      .$if(query.after !== undefined, (all) => all.where('name', '>', query.after ?? ''))
      .orderBy('name')
      .limit(query.limit)
      .execute();
    return rows.map((row) => row.name);
  }

  /** @param request.attributes as SQS names them; the database checks them */
  async createQueue(
    address: QueueAddress,
    request: {
      attributes: Record<string, string>;
      tags: Record<string, string>;
      cooldownSeconds: number;
    },
  ): Promise<void> {
    await this.#call('select trunkline._create_queue($1, $2, $3, $4, $5)', [
      address.accountId,
      address.name,
      JSON.stringify(request.attributes),
      JSON.stringify(request.tags),
      request.cooldownSeconds,
    ]);
  }

  /** All attributes of a queue by their names in SQS; message counts only where asked for. */
  async describeQueue(
    queueId: QueueId,
    request: { region: string; withCounts: boolean },
  ): Promise<Record<string, string>> {
    const [row] = await this.#call<{ attributes: Record<string, string> }>(
      'select trunkline._describe_queue($1, $2, $3) as attributes',
      [queueId, request.region, request.withCounts],
    );
    return row?.attributes ?? {};
  }

  async setQueueAttributes(queueId: QueueId, attributes: Record<string, string>): Promise<void> {
    await this.#call('select trunkline._set_queue_attributes($1, $2)', [
      queueId,
      JSON.stringify(attributes),
    ]);
  }

  async deleteQueue(queueId: QueueId): Promise<void> {
    await this.#call('select trunkline._delete_queue($1)', [queueId]);
  }

  async purgeQueue(queueId: QueueId): Promise<void> {
    await this.#call('select trunkline._purge_queue($1)', [queueId]);
  }

  async sendMessages(queueId: QueueId, messages: readonly MessageToSend[]): Promise<SentMessage[]> {
    const rows = await this.#call<{
      message_id: string | null;
      maximum_message_size_bytes: number;
    }>('select * from trunkline._send_messages($1, $2, $3, $4, $5, $6, $7, $8)', [
      queueId,
      messages.map((message) => message.body),
      messages.map((message) => message.sizeBytes),
      messages.map((message) => message.delaySeconds),
      messages.map((message) => message.attributes && JSON.stringify(message.attributes)),
      messages.map((message) => message.traceHeader),
      messages.map((message) => message.groupId),
      messages.map((message) => message.senderId),
    ]);
    return rows.map((row) =>
      row.message_id === null
        ? { messageId: undefined, maximumMessageSizeBytes: row.maximum_message_size_bytes }
        : { messageId: row.message_id },
    );
  }

  /** Does not wait for a group that another transaction is sending to: that fails with TQ006. */
  async sendFifoMessages(
    queueId: QueueId,
    messages: readonly FifoMessageToSend[],
  ): Promise<SentFifoMessage[]> {
    const rows = await this.#call<{
      message_id: string;
      sequence_number: string;
      refusal: SentFifoMessage['refusal'];
      maximum_message_size_bytes: number;
    }>(
      'select * from trunkline._send_fifo_messages($1, $2, $3, $4, $5, $6, $7, $8, p_may_wait => false)',
      [
        queueId,
        messages.map((message) => message.body),
        messages.map((message) => message.sizeBytes),
        messages.map((message) => message.attributes && JSON.stringify(message.attributes)),
        messages.map((message) => message.traceHeader),
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
    return await this.#call<ReceivedMessage & QueryResultRow>(
      `select ${receivedColumns} from trunkline._receive_messages($1, $2, $3, $4)`,
      [queueId, request.limit, request.visibilityTimeoutSeconds, request.inFlightLimit],
    );
  }

  async receiveFifoMessages(
    queueId: QueueId,
    request: FifoReceiveRequest,
  ): Promise<ReceivedMessage[]> {
    return await this.#call<ReceivedMessage & QueryResultRow>(
      `select ${receivedColumns} from trunkline._receive_fifo_messages($1, $2, $3, $4, $5)`,
      [
        queueId,
        request.limit,
        request.visibilityTimeoutSeconds,
        request.inFlightLimit,
        request.attemptId,
      ],
    );
  }

  async deleteMessages(
    queueId: QueueId,
    receiptHandles: readonly string[],
  ): Promise<DeleteOutcome[]> {
    const rows = await this.#call<{ outcome: DeleteOutcome }>(
      'select outcome from trunkline._delete_messages($1, $2)',
      [queueId, receiptHandles],
    );
    return rows.map((row) => row.outcome);
  }

  async deleteFifoMessages(
    queueId: QueueId,
    receiptHandles: readonly string[],
  ): Promise<FifoDeleteOutcome[]> {
    const rows = await this.#call<{ outcome: FifoDeleteOutcome }>(
      'select outcome from trunkline._delete_fifo_messages($1, $2, p_is_own_transaction => true)',
      [queueId, receiptHandles],
    );
    return rows.map((row) => row.outcome);
  }

  async changeVisibility(
    queueId: QueueId,
    changes: readonly VisibilityChange[],
  ): Promise<ChangeOutcome[]> {
    return await this.#changeVisibility('_change_visibility($1, $2, $3)', queueId, changes);
  }

  async changeFifoVisibility(
    queueId: QueueId,
    changes: readonly VisibilityChange[],
  ): Promise<ChangeOutcome[]> {
    return await this.#changeVisibility(
      '_change_fifo_visibility($1, $2, $3, p_is_own_transaction => true)',
      queueId,
      changes,
    );
  }

  async #changeVisibility(
    functionCall: string,
    queueId: QueueId,
    changes: readonly VisibilityChange[],
  ): Promise<ChangeOutcome[]> {
    const rows = await this.#call<{ outcome: ChangeOutcome }>(
      `select outcome from trunkline.${functionCall}`,
      [
        queueId,
        changes.map((change) => change.receiptHandle),
        changes.map((change) => change.timeoutSeconds),
      ],
    );
    return rows.map((row) => row.outcome);
  }

  /**
   * For queues with waiting polls: in how many milliseconds the next message is due (0 or less: now; null:
   * none in sight). Queues that are gone are absent.
   */
  async lookOut(queueIds: readonly QueueId[]): Promise<Map<QueueId, number | null>> {
    const rows = await this.#call<{ queue_id: QueueId; due_in_ms: number | null }>(
      'select queue_id, due_in_ms from trunkline._look_out($1)',
      [queueIds],
    );
    return new Map(rows.map((row) => [row.queue_id, row.due_in_ms]));
  }
}
