-- The rows of trunkline.in_flight_messages for one queue, in time with how many they are. What a receipt
-- handle is made of stays out.
create or replace function trunkline._report_in_flight(p_queue_id bigint, p_now timestamptz)
returns table (
  message_id uuid,
  received_at timestamptz,
  visible_again_at timestamptz,
  receive_count integer,
  first_received_at timestamptz,
  sent_at timestamptz,
  message_group_id text,
  sequence_number text
)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set max_parallel_workers_per_gather = 0
as $$
  select
    message.message_id,
    message.received_at,
    message.visible_at,
    message.receive_count,
    message.first_received_at,
    message.sent_at,
    message.group_id,
    case when message.deduplication_id is not null then trunkline._sequence_number(message.id) end
  from trunkline.messages as message
  where message.queue_id = p_queue_id
    and message.visible_at > '-infinity'
    and message.visible_at > p_now
    and message.receive_count > 0
  -- Only the index on visible_at has this order, so no other is walked, whatever the statistics say.
  order by message.visible_at
$$;
