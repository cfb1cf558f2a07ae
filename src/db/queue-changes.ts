import { DatabaseError, type Pool } from 'pg';
import { SqsError } from '../sqs/errors.ts';
import { isLockTimeout } from './sqlstate.ts';
import { runStatement } from './statement.ts';

/**
 * Calls of the SQL functions that change a queue, each a transaction of its own; those for one queue go one after the
 * other.
 *
 * Whoever changes a queue has its row until the transaction ends, and an application may keep one open for minutes. A
 * change waits for it a quarter of a second, as deletes of messages do. Ten of them side by side would have the whole
 * pool meanwhile, so the others stand in line here, and what one has waited for in vain those behind it do not wait for.
 */
export class QueueChanges {
  readonly #pool: Pool;
  /** For each queue that is being changed, the end of its line. */
  readonly #lines = new Map<string, Promise<void>>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * @param queue whatever tells the queue from others
   * @param call of a function in the schema `trunkline`
   * @throws {SqsError} ServiceUnavailable when a transaction elsewhere keeps the queue
   */
  async run(queue: string, call: string, values: unknown[]): Promise<void> {
    const turn = this.#runAfter(this.#lines.get(queue), call, values);
    this.#lines.set(queue, turn);
    try {
      await turn;
    } finally {
      if (this.#lines.get(queue) === turn) {
        this.#lines.delete(queue);
      }
    }
  }

  async #runAfter(before: Promise<void> | undefined, call: string, values: unknown[]) {
    await before?.catch((error: unknown) => {
      // What the database refused to the one before may be granted to the next. A wait in vain, also for a connection,
      // is that of both.
      if (!(error instanceof DatabaseError)) {
        throw error;
      }
    });
    try {
      const statement = `select trunkline.${call} from set_config('lock_timeout', '250ms', true)`;
      await runStatement(this.#pool, statement, values);
    } catch (error) {
      throw error instanceof DatabaseError && isLockTimeout(error)
        ? new SqsError(
            'ServiceUnavailable',
            'A transaction that has not ended yet is changing this queue. Try again.',
          )
        : error;
    }
  }
}
