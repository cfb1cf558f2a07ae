import { errorCode } from './embedded-postgres-error.ts';

/** The promised value, or undefined when it fails with one of `codes`; other failures still throw. */
export async function unlessError<Value>(
  promise: Promise<Value>,
  ...codes: string[]
): Promise<Value | undefined> {
  try {
    return await promise;
  } catch (error) {
    const code = errorCode(error);
    if (code !== undefined && codes.includes(code)) return undefined;
    throw error;
  }
}
