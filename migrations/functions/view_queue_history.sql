-- The samples of every queue, with what changed since the sample before.
create or replace view trunkline.queue_history as
select
  sample.account_id,
  sample.queue_name,
  sample.sampled_at,
  sample.visible,
  sample.in_flight,
  sample.delayed,
  sample.added_total - before.added_total as added,
  sample.removed_total - before.removed_total as removed,
  sample.sampled_at - before.sampled_at as elapsed
from trunkline.queue_statistics as sample
left join lateral (
  select previous.queue_id, previous.sampled_at, previous.added_total, previous.removed_total
  from trunkline.queue_statistics as previous
  where previous.account_id = sample.account_id
    and previous.queue_name = sample.queue_name
    and previous.sampled_at < sample.sampled_at
  order by previous.sampled_at desc
  limit 1
) as before on before.queue_id = sample.queue_id;

comment on view trunkline.queue_history is
  'The figures of every queue, sampled once in a minute while a server runs, and kept for trunkline.settings.statistics_retention. Goes on over a purge, and after a queue was deleted.';
comment on column trunkline.queue_history.account_id is 'The account that the queue belongs to.';
comment on column trunkline.queue_history.queue_name is 'The name of the queue.';
comment on column trunkline.queue_history.sampled_at is 'When the sample was taken.';
comment on column trunkline.queue_history.visible is 'As in queue_backlog, at that time.';
comment on column trunkline.queue_history.in_flight is 'As in queue_backlog, at that time.';
comment on column trunkline.queue_history.delayed is 'As in queue_backlog, at that time.';
comment on column trunkline.queue_history.added is
  'Messages added since the sample before. Null in the first sample of a queue and after a purge.';
comment on column trunkline.queue_history.removed is
  'Messages removed since the sample before: deleted, expired, or moved to another queue. Null as added.';
comment on column trunkline.queue_history.elapsed is 'Time since the sample before, about a minute. Null as added.';
