import { missingParameter, SqsError } from '../sqs/errors.ts';
import { limits } from '../sqs/limits.ts';
import type { BatchError } from '../sqs/shapes/messages.ts';

const entryId = /^[A-Za-z0-9_-]{1,80}$/;

/**
 * The entries of a batch, each known to have an id that is its own.
 *
 * @throws {SqsError} MissingParameter, EmptyBatchRequest, TooManyEntriesInBatchRequest,
 * InvalidBatchEntryId, BatchEntryIdsNotDistinct
 */
export function requireBatchEntries<Entry extends { Id?: string }>(
  entries: readonly Entry[] | undefined,
  entryName: string,
): (Entry & { Id: string })[] {
  if (entries === undefined || entries.length === 0) {
    throw new SqsError(
      'EmptyBatchRequest',
      `There should be at least one ${entryName} in the request.`,
    );
  }
  if (entries.length > limits.batchEntries) {
    throw new SqsError(
      'TooManyEntriesInBatchRequest',
      `Maximum number of entries per request are ${limits.batchEntries}. You have sent ${entries.length}.`,
    );
  }
  const identified = entries.map((entry, index) => {
    const { Id } = entry;
    if (Id === undefined) {
      throw missingParameter(`${entryName}.${index + 1}.Id`);
    }
    if (!entryId.test(Id)) {
      throw new SqsError(
        'InvalidBatchEntryId',
        'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
      );
    }
    return { ...entry, Id };
  });
  const seen = new Set<string>();
  for (const { Id } of identified) {
    if (seen.has(Id)) {
      throw new SqsError('BatchEntryIdsNotDistinct', `Id ${Id} repeated.`);
    }
    seen.add(Id);
  }
  return identified;
}

export function batchError(id: string, error: SqsError): BatchError {
  return {
    Id: id,
    Code: error.queryCode,
    Message: error.message,
    SenderFault: error.isSenderFault,
  };
}

/** The value of a check, or the error that it threw for the caller; a bug goes on. */
export function attempt<Value>(check: () => Value): Value | SqsError {
  try {
    return check();
  } catch (error) {
    if (error instanceof SqsError) {
      return error;
    }
    throw error;
  }
}

/** A batch's result, in which empty lists are absent. */
export function batchResult<Success>(
  successful: Success[],
  failed: BatchError[],
): { Successful?: Success[]; Failed?: BatchError[] } {
  return {
    ...(successful.length > 0 && { Successful: successful }),
    ...(failed.length > 0 && { Failed: failed }),
  };
}
