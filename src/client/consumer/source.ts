import type { Message } from '../message.ts';

export interface ReceiveRequest {
  maxNumberOfMessages: number;
  /** Seconds. */
  visibilityTimeout: number;
  /** How long to wait for a message, in seconds. */
  waitTimeSeconds: number;
  /** Ends the wait. */
  signal: AbortSignal;
}

export interface VisibilityRequest {
  message: Message;
  /** Seconds from now; 0 makes the message visible at once. */
  visibilityTimeout: number;
}

/**
 * Where a consumer gets its messages and gives them back. Answers come in the order of what was asked; false
 * says that the message was no longer this consumer's. A call that could not be carried out rejects.
 */
export interface MessageSource {
  /** Most messages in one receive. */
  readonly receiveLimit: number;
  receive(request: ReceiveRequest): Promise<Message[]>;
  delete(messages: readonly Message[]): Promise<boolean[]>;
  changeVisibility(changes: readonly VisibilityRequest[]): Promise<boolean[]>;
}

/** A source whose messages share a database with the work that is done for them. */
export interface TransactionalSource<Transaction> extends MessageSource {
  /**
   * Runs work in a transaction, deletes the message in it, and commits both.
   *
   * @throws {ReceiptHandleExpiredError} when the message was no longer this consumer's: nothing is committed
   */
  deleteWith(message: Message, work: (transaction: Transaction) => Promise<void>): Promise<void>;
}
