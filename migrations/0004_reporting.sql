-- What reporting keeps beside the queues themselves: a sample of each queue's figures every minute.

set local lock_timeout = '10s';

-- Keyed by name and not by queue_id, so that the history of a queue goes on after a purge.
create table trunkline.queue_statistics (
  account_id text not null,
  queue_name text not null,
  sampled_at timestamptz not null,
  queue_id bigint not null,
  visible bigint not null,
  in_flight bigint not null,
  delayed bigint not null,
  -- Since this queue_id began to be counted; they only grow, so two samples tell a rate.
  added_total bigint not null,
  removed_total bigint not null,
  -- As in queue_progress, but of messages, also for FIFO queues: no message of the queue has, or can still
  -- get, a visible_at before this. Reports look for the oldest message from here on.
  visible_from timestamptz not null,
  primary key (account_id, queue_name, sampled_at)
) with (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);

-- Serves sampling, which looks whether this minute has been sampled, and the removal of old samples.
create index queue_statistics_sampled_at_idx on trunkline.queue_statistics (sampled_at);

-- A queue has at most 1 440 samples a day, of about 150 bytes each with their index entries.
alter table trunkline.settings
  add column statistics_retention interval not null default '2 days'
    check (statistics_retention between interval '0' and interval '90 days');
