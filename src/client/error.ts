import type { ErrorName } from '../sqs/errors.ts';

/**
 * What went wrong, by the code that SQS has for it. `ReceiptHandleExpired` is this library's own: SQS answers
 * a delete with a stale handle with InvalidParameterValue or, on a standard queue, with success.
 */
export type ErrorCode = ErrorName | 'ReceiptHandleExpired';

/** SQLSTATEs that the functions of the schema `trunkline` raise. */
export const codeOfSqlState: Readonly<Record<string, ErrorCode>> = {
  TQ001: 'QueueDoesNotExist',
  TQ002: 'OverLimit',
  TQ003: 'PurgeQueueInProgress',
  TQ004: 'QueueDeletedRecently',
  TQ005: 'InvalidParameterValue',
  TQ006: 'ServiceUnavailable',
  TQ007: 'ReceiptHandleIsInvalid',
  TQ008: 'ReceiptHandleExpired',
  TQ009: 'QueueNameExists',
  TQ010: 'InvalidAttributeName',
  TQ011: 'InvalidAttributeValue',
  TQ012: 'InvalidParameterValue',
  TQ013: 'MissingParameter',
  TQ014: 'InvalidMessageContents',
  TQ015: 'UnsupportedOperation',
};

/** A call that Trunkline refused. Anything else that a call throws is the database driver's own error. */
export class TrunklineError extends Error {
  override readonly name: string = 'TrunklineError';
  readonly code: ErrorCode;
  /** Undefined when the call was refused before it reached the database. */
  readonly sqlState: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    { sqlState, cause }: { sqlState?: string; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.sqlState = sqlState;
  }
}

/**
 * The message is no longer the caller's: it was deleted, or its visibility timeout passed and another receive
 * has it. Work done for it must not be committed.
 */
export class ReceiptHandleExpiredError extends TrunklineError {
  override readonly name = 'ReceiptHandleExpiredError';

  constructor(message: string, details: { sqlState?: string; cause?: unknown } = {}) {
    super('ReceiptHandleExpired', message, details);
  }
}
