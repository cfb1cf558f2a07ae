/**
 * The embedded database could not be started or kept running. The message is written for the person at
 * the terminal: what happened, and what to do next.
 */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

/** Operating system errors a person can act on, in words. Any other code is a bug and keeps its stack. */
const EXPLANATIONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'a part of the path is a file, not a directory',
  EEXIST: 'a file is in the way',
  ELOOP: 'a symbolic link is in the way',
  EIO: 'the disk reports an error',
};

/** Turns an operating system error met while using `dataDirectory` into one a person can act on. */
export function explainError(error: unknown, dataDirectory: string): unknown {
  const code = errorCode(error);
  if (error instanceof EmbeddedPostgresError || code === undefined || !(error instanceof Error)) {
    return error;
  }
  const explanation = EXPLANATIONS[code];
  if (explanation === undefined) return error;
  return new EmbeddedPostgresError(
    `The embedded PostgreSQL cannot use the data directory ${dataDirectory}: ${explanation} ` +
      `(${error.message}). Correct that, choose another directory with TRUNKLINE_DATA_DIR, ` +
      'or use your own PostgreSQL with DATABASE_URL.',
    { cause: error },
  );
}

/** The `code` of a Node.js or PostgreSQL error, such as `ENOENT` or `28P01`. */
export function errorCode(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
    return error.code;
  }
  return undefined;
}
