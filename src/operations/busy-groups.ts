import { isGroupBusy, toCallerError } from '../db/sqlstate.ts';
import { SqsError } from '../sqs/errors.ts';

/**
 * Runs work on several messages of a FIFO queue at once. When a transaction elsewhere has the group of one, runs it
 * for each alone, so that only those of that group fail; a single one fails by itself.
 */
export async function eachAloneWhenBusy<Item, Outcome>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<Outcome[]>,
): Promise<(Outcome | SqsError)[]> {
  try {
    return await work(items);
  } catch (error) {
    if (!isGroupBusy(error) || items.length <= 1) {
      throw error;
    }
  }
  const outcomes = await Promise.all(
    items.map(async (item) => {
      try {
        return await work([item]);
      } catch (error) {
        const callerError = toCallerError(error);
        if (callerError instanceof SqsError) {
          return [callerError];
        }
        throw error;
      }
    }),
  );
  return outcomes.flat();
}
