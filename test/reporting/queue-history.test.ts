import { describe, expect, it } from 'vitest';
import { Maintenance } from '../../src/maintenance/service.ts';
import { statisticsService } from '../../src/maintenance/statistics.ts';
import { call, createQueue, deleteMessage, only, receiveOne, send } from '../sql/door.ts';
import { useDatabase } from '../support/database.ts';
import { historyOf, sample } from './reports.ts';

const database = useDatabase();
const { pool } = database;

const start = new Date('2040-01-01T00:00:00Z');
const later = (seconds: number) => new Date(start.getTime() + seconds * 1000);

async function forget(limit: number, now: Date): Promise<number> {
  const { rows } = await pool.query<{ forgotten: number }>(
    'select trunkline._forget_statistics($1, $2)::integer as forgotten',
    [limit, now],
  );
  return only(rows).forgotten;
}

describe('the history of a queue', () => {
  it('has a row for each minute, with what came and went since the one before', async () => {
    const name = await createQueue(pool);
    await send(pool, name, 'a');
    await send(pool, name, 'b', { delay: '15 minutes' });
    await sample(pool, later(10));
    await send(pool, name, 'c');
    await deleteMessage(pool, name, (await receiveOne(pool, name)).receipt_handle);
    await receiveOne(pool, name);
    await sample(pool, later(75));
    expect(await historyOf(pool, name)).toEqual([
      {
        sampled_at: later(10),
        // As of that time, which is long after the delay.
        visible: 2,
        in_flight: 0,
        delayed: 0,
        added: null,
        removed: null,
        elapsed_seconds: null,
      },
      {
        sampled_at: later(75),
        visible: 2,
        in_flight: 0,
        delayed: 0,
        added: 1,
        removed: 1,
        elapsed_seconds: 65,
      },
    ]);
  });

  it('goes on over a purge and after the queue was deleted', async () => {
    const name = await createQueue(pool);
    await send(pool, name, 'a');
    await sample(pool, later(300));
    await call(pool, 'purge_queue', { queue_name: name });
    await sample(pool, later(360));
    await call(pool, 'delete_queue', { queue_name: name });
    await sample(pool, later(420));
    expect(await historyOf(pool, name)).toMatchObject([
      { visible: 1, added: null },
      { visible: 0, added: null },
    ]);
  });
});

describe('sampling', () => {
  it('is done once in a minute, also by many servers at the same time', async () => {
    const name = await createQueue(pool);
    const sampled = await Promise.all(Array.from({ length: 12 }, () => sample(pool, later(6_000))));
    expect(sampled.filter(Boolean)).toHaveLength(1);
    expect(await sample(pool, later(6_059))).toBe(false);
    expect(await sample(pool, later(6_060))).toBe(true);
    expect(await historyOf(pool, name)).toHaveLength(2);
  });

  it('is done by the servers, which remove old samples too', async () => {
    const name = await createQueue(pool);
    const { rows } = await pool.query<{ long_ago: Date }>(
      `select clock_timestamp() - interval '1 year' as long_ago`,
    );
    await sample(pool, only(rows).long_ago);
    expect(await historyOf(pool, name)).toHaveLength(1);
    const errors: unknown[] = [];
    const maintenance = new Maintenance([statisticsService(pool)], (_service, error) =>
      errors.push(error),
    );
    await maintenance.stop();
    expect(errors).toEqual([]);
    expect(await historyOf(pool, name)).toMatchObject([{ added: null }]);
    const isRecent = await pool.query(
      `select from trunkline.queue_history
      where queue_name = $1 and sampled_at > clock_timestamp() - interval '1 minute'`,
      [name],
    );
    expect(isRecent.rows).toHaveLength(1);
  });
});

describe('samples past their retention', () => {
  it('are removed in batches, the oldest first', async () => {
    await pool.query('truncate trunkline.queue_statistics');
    const name = await createQueue(pool);
    const { rows } = await pool.query<{ count: number }>(
      'select count(*)::integer as count from trunkline.queues',
    );
    const queues = only(rows).count;
    for (const minute of [0, 1, 2]) {
      await sample(pool, later(10_000 + minute * 60));
    }
    const twoDays = 2 * 86_400;
    expect(await forget(1_000, later(10_000 + twoDays))).toBe(0);
    expect(await forget(1, later(10_061 + twoDays))).toBe(1);
    expect(await forget(1_000, later(10_061 + twoDays))).toBe(2 * queues - 1);
    expect(await historyOf(pool, name)).toMatchObject([{ sampled_at: later(10_120) }]);
  });

  it('go by the retention that is set', async () => {
    await pool.query('truncate trunkline.queue_statistics');
    await createQueue(pool);
    await sample(pool, later(20_000));
    await pool.query(`update trunkline.settings set statistics_retention = '10 minutes'`);
    expect(await forget(1_000, later(20_599))).toBe(0);
    expect(await forget(1_000, later(20_601))).toBeGreaterThan(0);
    await expect(
      pool.query(`update trunkline.settings set statistics_retention = '1 year'`),
    ).rejects.toMatchObject({ code: '23514' });
    await pool.query('update trunkline.settings set statistics_retention = default');
  });
});
