-- Every queue and what waits in it.
create or replace view trunkline.queue_backlog as
select
  queue.account_id,
  queue.name as queue_name,
  case when queue.is_fifo then 'fifo' else 'standard' end as queue_type,
  backlog.visible,
  backlog.in_flight,
  backlog.delayed,
  backlog.oldest_visible_age,
  backlog.oldest_in_flight_age,
  backlog.dead_letters_waiting,
  backlog.in_per_minute,
  backlog.out_per_minute,
  backlog.estimated_drain_time
from trunkline.queues as queue
cross join lateral trunkline._report_backlog(queue.id, statement_timestamp()) as backlog;

comment on view trunkline.queue_backlog is
  'Every queue and what waits in it, as of the start of the statement.';
comment on column trunkline.queue_backlog.account_id is 'The account that the queue belongs to.';
comment on column trunkline.queue_backlog.queue_name is 'The name of the queue.';
comment on column trunkline.queue_backlog.queue_type is 'standard or fifo.';
comment on column trunkline.queue_backlog.visible is
  'Messages that are neither in flight nor delayed. In a FIFO queue this includes those that wait behind a hidden message of their group. Messages past their retention count until they are removed.';
comment on column trunkline.queue_backlog.in_flight is
  'Messages that were received, and whose visibility timeout is not over.';
comment on column trunkline.queue_backlog.delayed is
  'Messages that were never received, and whose delay is not over.';
comment on column trunkline.queue_backlog.oldest_visible_age is
  'For how long the message that is visible longest has been visible. A message that came back after a receive counts from then. Null when none is visible.';
comment on column trunkline.queue_backlog.oldest_in_flight_age is
  'How long ago the message that is in flight longest was received. Null when none is in flight.';
comment on column trunkline.queue_backlog.dead_letters_waiting is
  'All messages in the dead-letter queue of this queue, those from other sources included. Null without a dead-letter queue.';
comment on column trunkline.queue_backlog.in_per_minute is
  'Messages added per minute, over the last four to five minutes. Null before the queue was sampled for half a minute, and while no server runs.';
comment on column trunkline.queue_backlog.out_per_minute is
  'Messages removed per minute over the same time: deleted, expired, or moved to another queue.';
comment on column trunkline.queue_backlog.estimated_drain_time is
  'After which time all messages will be gone if messages come and go as in the last minutes. Zero for an empty queue; null when it does not shrink, and without rates.';
