-- Stores messages in a standard queue. One row per message, in the order given.
--
-- A message over the queue's maximum size is not stored: its message_id is null. A null delay means the
-- queue's. Raises TQ001 when the queue is gone.
create or replace function trunkline._send_messages(
  p_queue_id bigint,
  p_bodies text[],
  p_sizes_bytes integer[],
  p_delays_seconds integer[],
  p_attributes text[],
  p_trace_headers text[],
  p_group_ids text[],
  p_sender_ids text[],
  p_now timestamptz default null
)
returns table (message_id uuid, maximum_message_size_bytes integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue trunkline.queues := trunkline._require_queue(p_queue_id);
  v_now timestamptz;
begin
  -- The transaction has its id before the clock is read: settlement rests on that order.
  perform pg_current_xact_id();
  v_now := coalesce(p_now, clock_timestamp());

  return query
  with entry as materialized (
    select
      case when given.size_bytes <= v_queue.maximum_message_size_bytes then gen_random_uuid() end as message_id,
      given.*
    from unnest(
      p_bodies, p_sizes_bytes, p_delays_seconds, p_attributes, p_trace_headers, p_group_ids, p_sender_ids
    ) with ordinality as given (
      body, size_bytes, delay_seconds, attributes, trace_header, group_id, sender_id, position
    )
  ),
  stored as (
    insert into trunkline.messages (
      queue_id, id, visible_at, sent_at, message_id, sender_id, group_id, trace_header, attributes, body
    )
    select
      p_queue_id,
      nextval('trunkline.message_ids'),
      v_now + make_interval(secs => coalesce(entry.delay_seconds, v_queue.delay_seconds)),
      v_now,
      entry.message_id,
      entry.sender_id,
      entry.group_id,
      entry.trace_header,
      entry.attributes::jsonb,
      entry.body
    from entry
    where entry.message_id is not null
  ),
  counted as (
    insert into trunkline.count_deltas (queue_id, added, removed)
    select p_queue_id, count(*), 0
    from entry
    where entry.message_id is not null
    having count(*) > 0
  )
  select entry.message_id, v_queue.maximum_message_size_bytes
  from entry
  order by entry.position;
end
$$;
