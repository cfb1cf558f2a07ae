import { DatabaseError } from 'pg';
import { messageBusy, queueDoesNotExist, SqsError } from '../sqs/errors.ts';

/** What a database failure means to the caller of an action. */

/** SQLSTATEs that Trunkline's functions raise; the texts are theirs. */
const raised = {
  TQ002: 'OverLimit',
  TQ003: 'PurgeQueueInProgress',
  TQ004: 'QueueDeletedRecently',
  TQ005: 'InvalidParameterValue',
  TQ009: 'QueueNameExists',
  TQ010: 'InvalidAttributeName',
  TQ011: 'InvalidAttributeValue',
  TQ012: 'InvalidParameterValue',
  TQ013: 'MissingParameter',
} as const;

const queueGone = 'TQ001';
const groupBusy = 'TQ006';

/** The queue was deleted or purged after its id was looked up: look it up again. */
export function isQueueGone(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === queueGone;
}

/** Another transaction is sending to the same message group, or with the same deduplication id. */
export function isGroupBusy(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === groupBusy || isLockTimeout(error));
}

export function isLockTimeout(error: DatabaseError): boolean {
  return error.code === '55P03';
}

/** Deadlock and serialization failure: the statement did nothing and may be run again. */
export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40P01' || error.code === '40001');
}

/** Class 08: connection; 53: out of resources; 57: operator intervention. */
function isOutage(error: DatabaseError): boolean {
  return /^(08|53|57|XX000)/.test(error.code ?? '');
}

/** A failure of the database that the operator has to know of. */
interface Trouble {
  sqlState: RegExp;
  /** For the caller, who can only try again. */
  answer: string;
  /** For the log: what is the matter, and what to do. */
  report: string;
}

const troubles: readonly Trouble[] = [
  {
    // A function, table or column that is not there, or has another type.
    sqlState: /^(42883|42P01|42703|22P02)$/,
    answer: 'The database has been brought up to date by a later version of the server. Try again.',
    report:
      'The database has another schema than this server expects. Replace the server by one of the version that migrated it.',
  },
  {
    sqlState: /^3[DF]000$/,
    answer: 'The database of the server is not there at the moment. Try again.',
    report:
      'The database of DATABASE_URL, or the schema trunkline in it, is not there. Restore it, or restart the server to set up an empty schema.',
  },
  {
    // A primary may have become a standby.
    sqlState: /^25006$/,
    answer: 'The database takes no changes at the moment. Try again.',
    report:
      'The database takes no changes: it is a standby, or set to read only. Set DATABASE_URL to the primary.',
  },
  {
    // Class 28: the role may not connect. 42501: a right is missing.
    sqlState: /^(28...|42501)$/,
    answer: 'The database refuses the server at the moment. Try again.',
    report:
      'The database refuses the role of DATABASE_URL. See whether its password and its rights are still what they were.',
  },
  {
    sqlState: /^57014$/,
    answer: 'The request took the database too long. Try again.',
    report:
      'A statement was cancelled, by the statement_timeout of the role or by somebody. See what keeps the database busy.',
  },
];

const networkFailure =
  /ECONN|EPIPE|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/;

/**
 * The error to answer: the catalogued one for what Trunkline's functions raise, a retryable one while the
 * database cannot do its work, and the error itself, a bug, for anything else.
 */
export function toCallerError(error: unknown): unknown {
  if (!(error instanceof Error)) {
    return error;
  }
  if (error instanceof DatabaseError) {
    if (error.code === queueGone) {
      return queueDoesNotExist();
    }
    if (isGroupBusy(error)) {
      return messageBusy();
    }
    if (error.code === '22021' || error.code === '22P05') {
      // Only U+0000 gets this far.
      return new SqsError(
        'InvalidParameterValue',
        'A parameter holds the character U+0000, which cannot be part of any name or value.',
      );
    }
    const trouble = troubles.find(({ sqlState }) => sqlState.test(error.code ?? ''));
    if (trouble !== undefined) {
      const report = new Error(trouble.report, { cause: error });
      return new SqsError('ServiceUnavailable', trouble.answer, trouble.answer, report);
    }
    const name = raised[error.code as keyof typeof raised];
    if (name !== undefined) {
      return new SqsError(name, error.message);
    }
  }
  const isUnavailable =
    error instanceof DatabaseError
      ? isOutage(error)
      : networkFailure.test(`${'code' in error ? error.code : ''} ${error.message}`);
  if (isConflict(error)) {
    return new SqsError(
      'ServiceUnavailable',
      'Others were changing the same messages or message groups at the same time. Try again.',
    );
  }
  if (isUnavailable) {
    return new SqsError(
      'ServiceUnavailable',
      'The database cannot be reached at the moment. Try again.',
    );
  }
  return error;
}
