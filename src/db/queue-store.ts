import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { QueueAddress } from '../sqs/queue-address.ts';
import { QueueChanges } from './queue-changes.ts';
import type { Database } from './schema.ts';
import { runStatement } from './statement.ts';

/** A queue's present contents; changes when the queue is purged. A bigint, kept as text. */
export type QueueId = string;

export interface Queue extends QueueAddress {
  id: QueueId;
  isFifo: boolean;
  receiveWaitSeconds: number;
  hasContentBasedDeduplication: boolean;
}

/**
 * Queues in the database. What changes something is one of the SQL functions, each a transaction of its own;
 * what they promise is written in their files.
 */
export class QueueStore {
  readonly #pool: Pool;
  readonly #database: Kysely<Database>;
  readonly #changes: QueueChanges;

  constructor(pool: Pool, database: Kysely<Database>) {
    this.#pool = pool;
    this.#database = database;
    this.#changes = new QueueChanges(pool);
  }

  /** Tells SQL users, who do not say so in each call, what this server is configured for. */
  async saveSettings(settings: {
    accountId: string;
    region: string;
    inFlightLimits: { standard: number; fifo: number };
  }): Promise<void> {
    await runStatement(
      this.#pool,
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
    const { accountId, name } = address;
    await this.#changes.run(`${accountId}/${name}`, '_create_queue($1, $2, $3, $4, $5)', [
      accountId,
      name,
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
    const [row] = await runStatement<{ attributes: Record<string, string> }>(
      this.#pool,
      'select trunkline._describe_queue($1, $2, $3) as attributes',
      [queueId, request.region, request.withCounts],
    );
    return row?.attributes ?? {};
  }

  async setQueueAttributes(queueId: QueueId, attributes: Record<string, string>): Promise<void> {
    await this.#changes.run(queueId, '_set_queue_attributes($1, $2)', [
      queueId,
      JSON.stringify(attributes),
    ]);
  }

  async deleteQueue(queueId: QueueId): Promise<void> {
    await this.#changes.run(queueId, '_delete_queue($1)', [queueId]);
  }

  async purgeQueue(queueId: QueueId): Promise<void> {
    await this.#changes.run(queueId, '_purge_queue($1)', [queueId]);
  }

  /**
   * For queues with waiting polls: in how many milliseconds the next message is due (0 or less: now; null:
   * none in sight). Queues that are gone are absent.
   */
  async lookOut(queueIds: readonly QueueId[]): Promise<Map<QueueId, number | null>> {
    const rows = await runStatement<{ queue_id: QueueId; due_in_ms: number | null }>(
      this.#pool,
      'select queue_id, due_in_ms from trunkline._look_out($1)',
      [queueIds],
    );
    return new Map(rows.map((row) => [row.queue_id, row.due_in_ms]));
  }
}
