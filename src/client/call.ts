import { toTrunklineError } from './database-error.ts';
import type { Executor } from './executor.ts';

/**
 * Runs a statement whose rows have one text column `result` with JSON, and reads it.
 *
 * @throws {TrunklineError} for what Trunkline's functions raise; the driver's error for anything else
 */
export async function call<Result>(
  executor: Executor,
  statement: string,
  values: readonly (string | null)[],
): Promise<Result[]> {
  const text = statement.trim();
  let answer: Awaited<ReturnType<Executor['query']>>;
  try {
    answer = await executor.query(text, values);
  } catch (error) {
    throw toTrunklineError(error);
  }
  if (!Array.isArray(answer?.rows)) {
    throw new TypeError(
      'The given executor answered no rows. Knex, TypeORM, Prisma, Drizzle and postgres.js need their adapter.',
    );
  }
  return answer.rows.map(({ result }) => JSON.parse(String(result)));
}

/** A number or a missing value as the text that a statement casts. */
export function optionalText(value: string | number | undefined): string | null {
  return value === undefined ? null : String(value);
}
