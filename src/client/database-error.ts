import { codeOfSqlState, ReceiptHandleExpiredError, TrunklineError } from './error.ts';

/** Where drivers and query builders keep an SQLSTATE, and the database's error below their own. */
interface MaybeDatabaseError {
  code?: unknown;
  originalCode?: unknown;
  message?: unknown;
  originalMessage?: unknown;
  cause?: unknown;
  driverError?: unknown;
  driverAdapterError?: unknown;
  meta?: unknown;
}

/** More layers than any of them has. */
const deepestLayer = 5;

interface Raised {
  sqlState: string;
  message: string;
}

function findRaised(error: unknown, layer = 0): Raised | undefined {
  if (typeof error !== 'object' || error === null || layer > deepestLayer) {
    return undefined;
  }
  const given: MaybeDatabaseError = error;
  for (const below of [given.cause, given.driverError, given.driverAdapterError, given.meta]) {
    const raised = findRaised(below, layer + 1);
    if (raised !== undefined) {
      return raised;
    }
  }
  const sqlState = [given.code, given.originalCode].find(
    (code): code is string => typeof code === 'string' && code in codeOfSqlState,
  );
  return sqlState === undefined
    ? undefined
    : { sqlState, message: String(given.originalMessage ?? given.message) };
}

/**
 * The library's error for what Trunkline's functions raised, whichever driver brought it; any other error as
 * it is.
 */
export function toTrunklineError(error: unknown): unknown {
  const raised = findRaised(error);
  const code = raised && codeOfSqlState[raised.sqlState];
  if (raised === undefined || code === undefined) {
    return error;
  }
  const { sqlState, message } = raised;
  return code === 'ReceiptHandleExpired'
    ? new ReceiptHandleExpiredError(message, { sqlState, cause: error })
    : new TrunklineError(code, message, { sqlState, cause: error });
}
