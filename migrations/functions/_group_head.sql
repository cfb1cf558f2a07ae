-- The first message of a group at or after an id, and sent after a time.
--
-- Written as a range of (group_id, id) in that order, which only messages_group_idx can serve. With an equality
-- on the group the planner may walk the whole queue by id instead, when it believes the queue to be empty.
-- Becomes part of the statement that calls it, whose function has to switch off sequential scans, bitmap scans and sorts.
create or replace function trunkline._group_head(
  p_queue_id bigint,
  p_group_id text,
  p_from_id bigint,
  p_sent_after timestamptz
)
returns table (id bigint, visible_at timestamptz)
language sql
stable
begin atomic
  select message.id, message.visible_at
  from trunkline.messages as message
  where message.queue_id = p_queue_id
    and (message.group_id, message.id) >= (p_group_id, p_from_id)
    and message.group_id <= p_group_id
    and message.deduplication_id is not null
    and message.sent_at > p_sent_after
  order by message.group_id, message.id
  limit 1;
end;
