import type { DatabaseLike, TransactionOf } from '../database.ts';
import { TrunklineError } from '../error.ts';
import type { Message } from '../message.ts';
import type { Trunkline } from '../trunkline.ts';
import type { ReceiveRequest, TransactionalSource, VisibilityRequest } from './source.ts';

/** A queue in the database, without a server in between. */
export class DatabaseSource<Database extends DatabaseLike>
  implements TransactionalSource<TransactionOf<Database>>
{
  readonly receiveLimit = 1_000;
  readonly #trunkline: Trunkline<Database>;
  readonly #queueName: string;

  constructor(trunkline: Trunkline<Database>, queueName: string) {
    this.#trunkline = trunkline;
    this.#queueName = queueName;
  }

  async receive(request: ReceiveRequest): Promise<Message[]> {
    return await this.#trunkline.receiveMessages({ queueName: this.#queueName, ...request });
  }

  async delete(messages: readonly Message[]): Promise<boolean[]> {
    return await this.#trunkline.deleteMessageBatchOrIgnore({
      queueName: this.#queueName,
      receiptHandles: messages.map(({ receiptHandle }) => receiptHandle),
    });
  }

  /** One statement if all are still there; else one each, because the database changes all or none. */
  async changeVisibility(changes: readonly VisibilityRequest[]): Promise<boolean[]> {
    if (await this.#tryChange(changes)) {
      return changes.map(() => true);
    }
    if (changes.length === 1) {
      return [false];
    }
    const outcomes: boolean[] = [];
    for (const change of changes) {
      outcomes.push(await this.#tryChange([change]));
    }
    return outcomes;
  }

  async deleteWith(
    { receiptHandle }: Message,
    work: (transaction: TransactionOf<Database>) => Promise<void>,
  ): Promise<void> {
    await this.#trunkline.transaction(async (transaction, executor) => {
      await work(transaction);
      await this.#trunkline.deleteMessage({ queueName: this.#queueName, receiptHandle }, executor);
    });
  }

  async #tryChange(changes: readonly VisibilityRequest[]): Promise<boolean> {
    try {
      await this.#trunkline.changeMessageVisibilityBatch({
        queueName: this.#queueName,
        entries: changes.map(({ message, visibilityTimeout }) => ({
          receiptHandle: message.receiptHandle,
          visibilityTimeout,
        })),
      });
      return true;
    } catch (error) {
      if (isGone(error)) {
        return false;
      }
      throw error;
    }
  }
}

/** The message was deleted or expired, another receive has it, its queue was purged, or its 12 hours are over. */
function isGone(error: unknown): boolean {
  return (
    error instanceof TrunklineError &&
    /^(ReceiptHandleExpired|ReceiptHandleIsInvalid|InvalidParameterValue)$/.test(error.code)
  );
}
