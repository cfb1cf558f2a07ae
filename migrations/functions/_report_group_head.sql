-- The first message of a FIFO group, or no row when there is none. One index probe, for any number of messages
-- behind it.
create or replace function trunkline._report_group_head(
  p_queue_id bigint,
  p_group_id text,
  p_head_id bigint,
  p_sent_after timestamptz
)
returns table (
  message_id uuid,
  sent_at timestamptz,
  visible_at timestamptz,
  received_at timestamptz,
  receive_count integer
)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
  select message.message_id, message.sent_at, message.visible_at, message.received_at, message.receive_count
  from trunkline.messages as message
  where message.queue_id = p_queue_id
    and message.group_id = p_group_id
    and message.deduplication_id is not null
    and message.id >= p_head_id
    and message.sent_at > p_sent_after
  order by message.id
  limit 1
$$;
