import type { Pool } from 'pg';
import type { Service } from './service.ts';

/**
 * Between settlings: short under traffic, since the low-water marks lag behind by about this and receives
 * walk what lies between; longer otherwise, since each leaves a dead row version or two.
 */
const settlePauseMs = { busy: 300, unsettled: 500, quiet: 2_000 };
/** Statements since the last settling that make a server busy. */
const busyStatements = 500;
const rescanPauseMs = 60_000;
const janitorPauseMs = 10_000;
/** Shorter: until it ran, receives have to look at the rows of empty groups. */
const fifoHistoryPauseMs = 5_000;
/** Rows in one janitor's statement: some tens of milliseconds, so that nobody waits long behind it. */
const janitorBatch = 2_000;
/** Between batches, so that a large queue's removal leaves room for traffic. */
const betweenBatchesMs = 20;

/** Folds message counts and moves the low-water marks of receiving. */
export function settleService(pool: Pool): Service {
  return {
    name: 'settle',
    async runOnce() {
      const { rows } = await pool.query<{ folded: string | null }>(
        'select trunkline._settle() as folded',
      );
      const folded = rows[0]?.folded ?? null;
      if (folded === null) {
        return settlePauseMs.quiet;
      }
      if (Number(folded) === 0) {
        // Something is there, but a transaction that is under way keeps it from settling.
        return settlePauseMs.unsettled;
      }
      return Number(folded) > busyStatements ? settlePauseMs.busy : settlePauseMs.quiet;
    },
  };
}

/** The safety net under the low-water marks. */
export function rescanService(pool: Pool, onLowered: (queueId: string) => void): Service {
  return {
    name: 'rescan low-water marks',
    async runOnce() {
      const { rows } = await pool.query<{ queue_id: string }>(
        'select queue_id from trunkline._rescan_low_water_marks()',
      );
      for (const row of rows) {
        onLowered(row.queue_id);
      }
      return rescanPauseMs;
    },
  };
}

function janitor(
  name: string,
  pool: Pool,
  statement: string,
  idlePauseMs = janitorPauseMs,
): Service {
  return {
    name,
    async runOnce() {
      const { rows } = await pool.query<{ removed: string }>(statement, [janitorBatch]);
      return Number(rows[0]?.removed) > 0 ? betweenBatchesMs : idlePauseMs;
    },
  };
}

/** Removes messages past their retention. */
export function expireService(pool: Pool): Service {
  return janitor('expire messages', pool, 'select trunkline._expire_messages($1) as removed');
}

/** Removes deduplication ids and receive attempts past their five minutes, and rows of empty groups. */
export function forgetFifoHistoryService(pool: Pool): Service {
  return janitor(
    'forget FIFO history',
    pool,
    'select trunkline._forget_fifo_history($1) as removed',
    fifoHistoryPauseMs,
  );
}

/** Removes what is left of purged and deleted queues. */
export function clearDiscardedService(pool: Pool): Service {
  return janitor(
    'clear discarded queues',
    pool,
    'select trunkline._clear_discarded_queues($1) as removed',
  );
}
