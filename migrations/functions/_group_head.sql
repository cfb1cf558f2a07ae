-- The first message of a group at or after an id, and sent after a time.
--
-- Written as a range of (group_id, id) in that order, which only messages_group_idx can serve. With an equality
-- on the group the planner may walk the whole queue by id instead, when it believes the queue to be empty.
create or replace function trunkline._group_head(
  p_queue_id bigint,
  p_group_id text,
  p_from_id bigint,
  p_sent_after timestamptz
)
returns table (id bigint, visible_at timestamptz)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
  select message.id, message.visible_at
  from trunkline.messages as message
  where message.queue_id = p_queue_id
    and (message.group_id, message.id) >= (p_group_id, p_from_id)
    and message.group_id <= p_group_id
    and message.deduplication_id is not null
    and message.sent_at > p_sent_after
  order by message.group_id, message.id
  limit 1;
end
$$;
