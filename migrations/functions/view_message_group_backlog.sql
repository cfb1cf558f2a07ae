-- Every group of every FIFO queue: how deep it is, and what blocks it.
--
-- Two parts, because only the groups in use are in the index on visible_at, by which `where is_blocked` is
-- answered without a look at the others. A drained group can have messages of a send that committed late.
create or replace view trunkline.message_group_backlog as
select
  queue.account_id,
  queue.name as queue_name,
  live.group_id as message_group_id,
  trunkline._report_group_depth(queue.id, live.group_id, live.head_id) as depth,
  live.visible_at > statement_timestamp() as is_blocked,
  case when live.visible_at > statement_timestamp() then coalesce(head.received_at, head.sent_at) end as blocked_since,
  case when live.visible_at > statement_timestamp() then live.visible_at end as blocked_until,
  case when live.visible_at > statement_timestamp() then head.message_id end as blocked_by_message_id,
  case when live.visible_at > statement_timestamp() then head.receive_count end as blocked_by_receive_count,
  head.sent_at as oldest_sent_at
from trunkline.queues as queue
join trunkline.message_groups as live on live.queue_id = queue.id and live.drained_at is null
cross join lateral trunkline._report_group_head(
  queue.id, live.group_id, live.head_id, statement_timestamp() - make_interval(secs => queue.message_retention_seconds)
) as head
union all
select
  queue.account_id,
  queue.name,
  drained.group_id,
  trunkline._report_group_depth(queue.id, drained.group_id, drained.head_id),
  head.visible_at > statement_timestamp(),
  case when head.visible_at > statement_timestamp() then coalesce(head.received_at, head.sent_at) end,
  case when head.visible_at > statement_timestamp() then head.visible_at end,
  case when head.visible_at > statement_timestamp() then head.message_id end,
  case when head.visible_at > statement_timestamp() then head.receive_count end,
  head.sent_at
from trunkline.queues as queue
join trunkline.message_groups as drained on drained.queue_id = queue.id and drained.drained_at is not null
  and not drained.is_empty
cross join lateral trunkline._report_group_head(
  queue.id, drained.group_id, drained.head_id, statement_timestamp() - make_interval(secs => queue.message_retention_seconds)
) as head;

comment on view trunkline.message_group_backlog is
  'Every message group of every FIFO queue that has messages, as of the start of the statement.';
comment on column trunkline.message_group_backlog.account_id is 'The account that the queue belongs to.';
comment on column trunkline.message_group_backlog.queue_name is 'The name of the FIFO queue.';
comment on column trunkline.message_group_backlog.message_group_id is 'The message group.';
comment on column trunkline.message_group_backlog.depth is
  'Messages of the group, in flight and delayed ones included. Counted up to 1000: 1000 means 1000 or more.';
comment on column trunkline.message_group_backlog.is_blocked is
  'Whether the first message of the group is in flight or delayed, so that none of the group can be received.';
comment on column trunkline.message_group_backlog.blocked_since is
  'When the blocking message was received, or sent if it is delayed. Null when the group is not blocked.';
comment on column trunkline.message_group_backlog.blocked_until is
  'When the blocking message will be visible, unless it is deleted before. Null when the group is not blocked.';
comment on column trunkline.message_group_backlog.blocked_by_message_id is
  'The id of the blocking message. Null when the group is not blocked.';
comment on column trunkline.message_group_backlog.blocked_by_receive_count is
  'How often the blocking message was received; 0 when it is delayed. Null when the group is not blocked.';
comment on column trunkline.message_group_backlog.oldest_sent_at is 'When the first message of the group was sent.';
