import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../sql/door.ts';
import { only } from '../sql/door.ts';

/** Reports as a dashboard reads them. Ages and times to go come in seconds, counts as numbers. */

export interface Backlog {
  queue_type: string;
  visible: number;
  in_flight: number;
  delayed: number;
  oldest_visible_seconds: number | null;
  oldest_in_flight_seconds: number | null;
  dead_letters_waiting: number | null;
  in_per_minute: number | null;
  out_per_minute: number | null;
  drain_seconds: number | null;
}

export async function backlogOf(connection: Connection, queueName: string): Promise<Backlog> {
  const { rows } = await connection.query<Backlog>(
    `select
      queue_type,
      visible::integer,
      in_flight::integer,
      delayed::integer,
      extract(epoch from oldest_visible_age)::double precision as oldest_visible_seconds,
      extract(epoch from oldest_in_flight_age)::double precision as oldest_in_flight_seconds,
      dead_letters_waiting::integer,
      in_per_minute::double precision,
      out_per_minute::double precision,
      extract(epoch from estimated_drain_time)::double precision as drain_seconds
    from trunkline.queue_backlog
    where queue_name = $1`,
    [queueName],
  );
  return only(rows);
}

export interface GroupBacklog {
  message_group_id: string;
  depth: number;
  is_blocked: boolean;
  blocked_since: Date | null;
  blocked_until: Date | null;
  blocked_by_message_id: string | null;
  blocked_by_receive_count: number | null;
  oldest_sent_at: Date;
}

export async function groupsOf(connection: Connection, queueName: string): Promise<GroupBacklog[]> {
  const { rows } = await connection.query<GroupBacklog>(
    `select *, depth::integer
    from trunkline.message_group_backlog
    where queue_name = $1
    order by message_group_id`,
    [queueName],
  );
  return rows;
}

export interface Sample {
  sampled_at: Date;
  visible: number;
  in_flight: number;
  delayed: number;
  added: number | null;
  removed: number | null;
  elapsed_seconds: number | null;
}

export async function historyOf(connection: Connection, queueName: string): Promise<Sample[]> {
  const { rows } = await connection.query<Sample>(
    `select
      sampled_at,
      visible::integer,
      in_flight::integer,
      delayed::integer,
      added::integer,
      removed::integer,
      extract(epoch from elapsed)::double precision as elapsed_seconds
    from trunkline.queue_history
    where queue_name = $1
    order by sampled_at`,
    [queueName],
  );
  return rows;
}

/** Samples all queues as of a time; answers whether it was the first to do so in that minute. */
export async function sample(connection: Connection, at: Date): Promise<boolean> {
  const { rows } = await connection.query<{ is_sampled: boolean }>(
    'select trunkline._sample_statistics($1) as is_sampled',
    [at],
  );
  return only(rows).is_sampled;
}

/** Settles what was committed so far, which has to wait for writers of other databases too. */
export async function settle(connection: Connection): Promise<void> {
  for (let attempt = 1; attempt <= 1000; attempt += 1) {
    await connection.query('select trunkline._settle()');
    const { rows } = await connection.query('select from trunkline.count_deltas limit 1');
    if (rows.length === 0) {
      return;
    }
    await sleep(20);
  }
  throw new Error('Something keeps the past from settling.');
}
