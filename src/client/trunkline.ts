import { limits } from '../sqs/limits.ts';
import { call, optionalText } from './call.ts';
import {
  type DatabaseLike,
  type TransactionLike,
  type TransactionOf,
  toConnection,
  toExecutor,
} from './database.ts';
import { TrunklineError } from './error.ts';
import type { Connection, Executor } from './executor.ts';
import { defaultMaximumPauseMs, pollUntilFound } from './long-poll.ts';
import { type Message, type ReceivedRow, toMessage } from './message.ts';
import { type SentRow, toEntriesJson, toSentMessage } from './message-to-send.ts';
import { requireBetween, requireFinite } from './number-range.ts';
import { type QueueAttributes, toAttributesJson } from './queue-attributes.ts';
import type {
  ChangeMessageVisibilityBatchRequest,
  ChangeMessageVisibilityRequest,
  CreateQueueRequest,
  DeleteMessageBatchRequest,
  ListQueuesRequest,
  QueueRequest,
  ReceiptRequest,
  ReceiveMessagesRequest,
  SendMessageBatchRequest,
  SendMessageRequest,
  SentMessage,
  SetQueueAttributesRequest,
} from './requests.ts';
import { statements } from './statements.ts';

export interface TrunklineOptions {
  /** Longest pause between two looks at the queue while a receive waits, in milliseconds; 500 by default. */
  maximumPauseMs?: number;
}

/**
 * The queues of a database, as SQS has them.
 *
 * Every method takes the caller's transaction as its last argument: then what it does commits or rolls back
 * with it. Without one, it is a transaction of its own. Methods reject with a {@link TrunklineError} when
 * Trunkline refuses, and with the driver's error when the database fails.
 */
export class Trunkline<Database extends DatabaseLike = DatabaseLike> {
  readonly #connection: Executor | Connection<unknown>;
  readonly #maximumPauseMs: number;

  /** @param database a pg Pool, a Kysely instance, or what an adapter made; the caller's to end */
  constructor(database: Database, options: TrunklineOptions = {}) {
    this.#connection = toConnection(database);
    this.#maximumPauseMs = options.maximumPauseMs ?? defaultMaximumPauseMs;
  }

  async sendMessage(
    { queueName, ...message }: SendMessageRequest,
    transaction?: TransactionLike,
  ): Promise<SentMessage> {
    const [sent] = await this.sendMessageBatch({ queueName, entries: [message] }, transaction);
    if (sent === undefined) {
      throw new Error('The database sent a message and answered nothing.');
    }
    return sent;
  }

  /** Sends any number of messages in one statement, all or none; answers in the order given. */
  async sendMessageBatch(
    { queueName, entries }: SendMessageBatchRequest,
    transaction?: TransactionLike,
  ): Promise<SentMessage[]> {
    if (entries.length === 0) {
      return [];
    }
    const rows = await call<SentRow>(this.#executor(transaction), statements.sendMessages, [
      queueName,
      toEntriesJson(entries),
    ]);
    return rows.map(toSentMessage);
  }

  /**
   * Receives messages and hides them from others for the visibility timeout. With `waitTimeSeconds` it waits
   * for the first one, looking at intervals; no connection is held in between.
   */
  async receiveMessages(
    request: ReceiveMessagesRequest,
    transaction?: TransactionLike,
  ): Promise<Message[]> {
    const { waitTimeSeconds = 0, signal } = request;
    requireBetween('waitTimeSeconds', waitTimeSeconds, 0, limits.receiveWaitSeconds.maximum);
    if (waitTimeSeconds > 0 && transaction !== undefined) {
      throw new TrunklineError(
        'InvalidParameterValue',
        'waitTimeSeconds must be 0 in a transaction, which would be held open while waiting.',
      );
    }
    const executor = this.#executor(transaction);
    const values = [
      request.queueName,
      String(request.maxNumberOfMessages ?? 1),
      optionalText(request.visibilityTimeout),
      optionalText(request.receiveRequestAttemptId),
    ];
    const look = async () =>
      (await call<ReceivedRow>(executor, statements.receiveMessages, values)).map(toMessage);
    return waitTimeSeconds > 0
      ? await pollUntilFound(look, {
          waitTimeSeconds,
          maximumPauseMs: this.#maximumPauseMs,
          signal,
        })
      : await look();
  }

  /**
   * Acknowledges a message.
   *
   * @throws {ReceiptHandleExpiredError} when the message is no longer the caller's; in a transaction, the
   *   database then refuses everything but a rollback, so work done for it cannot commit
   */
  async deleteMessage(
    { queueName, receiptHandle }: ReceiptRequest,
    transaction?: TransactionLike,
  ): Promise<void> {
    await this.deleteMessageBatch({ queueName, receiptHandles: [receiptHandle] }, transaction);
  }

  /**
   * Acknowledges messages, all or none.
   *
   * @throws {ReceiptHandleExpiredError} when one of them is no longer the caller's
   */
  async deleteMessageBatch(
    { queueName, receiptHandles }: DeleteMessageBatchRequest,
    transaction?: TransactionLike,
  ): Promise<void> {
    if (receiptHandles.length > 0) {
      await call(this.#executor(transaction), statements.deleteMessages, [
        queueName,
        JSON.stringify(receiptHandles),
      ]);
    }
  }

  /** Deletes a message if it is still the caller's; answers whether it was. */
  async deleteMessageOrIgnore(
    { queueName, receiptHandle }: ReceiptRequest,
    transaction?: TransactionLike,
  ): Promise<boolean> {
    const request = { queueName, receiptHandles: [receiptHandle] };
    const [isDeleted] = await this.deleteMessageBatchOrIgnore(request, transaction);
    return isDeleted === true;
  }

  /** Deletes those messages that are still the caller's; answers for each, in order, whether it was. */
  async deleteMessageBatchOrIgnore(
    { queueName, receiptHandles }: DeleteMessageBatchRequest,
    transaction?: TransactionLike,
  ): Promise<boolean[]> {
    return receiptHandles.length === 0
      ? []
      : await call<boolean>(this.#executor(transaction), statements.deleteMessagesOrIgnore, [
          queueName,
          JSON.stringify(receiptHandles),
        ]);
  }

  async changeMessageVisibility(
    { queueName, ...change }: ChangeMessageVisibilityRequest,
    transaction?: TransactionLike,
  ): Promise<void> {
    await this.changeMessageVisibilityBatch({ queueName, entries: [change] }, transaction);
  }

  /**
   * Changes how long messages stay hidden, all or none.
   *
   * @throws {ReceiptHandleExpiredError} when one of them is gone or, in a FIFO queue, no longer the caller's
   */
  async changeMessageVisibilityBatch(
    { queueName, entries }: ChangeMessageVisibilityBatchRequest,
    transaction?: TransactionLike,
  ): Promise<void> {
    if (entries.length > 0) {
      const changes = entries.map(({ receiptHandle, visibilityTimeout }) => ({
        handle: receiptHandle,
        seconds: requireFinite('visibilityTimeout', visibilityTimeout),
      }));
      await call(this.#executor(transaction), statements.changeVisibility, [
        queueName,
        JSON.stringify(changes),
      ]);
    }
  }

  /** Creates a queue, or finds it as it should be; answers whether it created it. */
  async createQueue(
    { queueName, attributes = {}, tags = {} }: CreateQueueRequest,
    transaction?: TransactionLike,
  ): Promise<boolean> {
    const [isNew] = await call<boolean>(this.#executor(transaction), statements.createQueue, [
      queueName,
      toAttributesJson(attributes),
      JSON.stringify(tags),
    ]);
    return isNew === true;
  }

  /** Deletes a queue with all its messages. */
  async deleteQueue({ queueName }: QueueRequest, transaction?: TransactionLike): Promise<void> {
    await call(this.#executor(transaction), statements.deleteQueue, [queueName]);
  }

  /** Removes all messages of a queue, at most once in 60 seconds. */
  async purgeQueue({ queueName }: QueueRequest, transaction?: TransactionLike): Promise<void> {
    await call(this.#executor(transaction), statements.purgeQueue, [queueName]);
  }

  /** The names of queues that begin with a prefix, in order. */
  async listQueues(
    { queueNamePrefix = '' }: ListQueuesRequest = {},
    transaction?: TransactionLike,
  ): Promise<string[]> {
    return await call<string>(this.#executor(transaction), statements.listQueues, [
      queueNamePrefix,
    ]);
  }

  /** All attributes of a queue, message counts included. */
  async getQueueAttributes(
    { queueName }: QueueRequest,
    transaction?: TransactionLike,
  ): Promise<QueueAttributes> {
    const [attributes] = await call<QueueAttributes>(
      this.#executor(transaction),
      statements.getQueueAttributes,
      [queueName],
    );
    return attributes ?? {};
  }

  /** Sets the given attributes; others keep their values. */
  async setQueueAttributes(
    { queueName, attributes }: SetQueueAttributesRequest,
    transaction?: TransactionLike,
  ): Promise<void> {
    await call(this.#executor(transaction), statements.setQueueAttributes, [
      queueName,
      toAttributesJson(attributes),
    ]);
  }

  /**
   * Runs work in a transaction of the database that the library was constructed with. It commits when the
   * work resolves and rolls back when it rejects, or when one of its statements had failed. The second argument of the work is the same transaction as
   * an executor, for databases that need an adapter.
   */
  async transaction<Result>(
    work: (transaction: TransactionOf<Database>, executor: Executor) => Promise<Result>,
  ): Promise<Result> {
    const connection = this.#connection;
    if (!('transaction' in connection)) {
      throw new TypeError(
        'Trunkline was constructed with an executor that cannot open transactions. Construct it with a pg Pool, a Kysely instance, or what an adapter makes.',
      );
    }
    return await connection.transaction(async (transaction, executor) => {
      // The type is what the constructor's argument gives, which TypeScript cannot follow to here.
      const result = await work(transaction as TransactionOf<Database>, executor);
      // PostgreSQL answers the commit of an aborted transaction with a rollback, which most drivers take for
      // a success. Any statement fails there.
      await call(executor, statements.proveNotAborted, []);
      return result;
    });
  }

  #executor(transaction: TransactionLike | undefined): Executor {
    return transaction === undefined ? this.#connection : toExecutor(transaction);
  }
}
