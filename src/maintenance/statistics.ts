import type { Pool } from 'pg';
import type { Service } from './service.ts';

/** A sample is due once a minute; whichever server looks first after the full minute takes it. */
const pauseMs = 10_000;
/** Old samples removed in one statement. */
const forgetBatch = 2_000;
const betweenBatchesMs = 20;

/** Samples the figures of every queue for reporting, and removes samples past their retention. */
export function statisticsService(pool: Pool): Service {
  return {
    name: 'sample statistics',
    async runOnce() {
      const { rows } = await pool.query<{ forgotten: string }>(
        'select trunkline._sample_statistics(), trunkline._forget_statistics($1) as forgotten',
        [forgetBatch],
      );
      return Number(rows[0]?.forgotten) > 0 ? betweenBatchesMs : pauseMs;
    },
  };
}
