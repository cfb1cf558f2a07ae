-- Stores messages in a standard queue, but for those over its maximum size, which it answers in bytes. A null delay
-- means the queue's; a null array stands for one of nulls.
create or replace function trunkline._send_messages(
  p_queue trunkline.queues,
  p_message_ids uuid[],
  p_bodies text[],
  p_sizes_bytes integer[],
  p_delays_seconds integer[],
  p_attributes text[],
  p_trace_headers text[],
  p_group_ids text[],
  p_sender_ids text[],
  p_now timestamptz default null
)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz;
  v_stored bigint;
begin
  -- The transaction has its id before the clock is read: settlement rests on that order.
  perform pg_current_xact_id();
  v_now := coalesce(p_now, clock_timestamp());

  insert into trunkline.messages (
    queue_id, id, visible_at, sent_at, message_id, sender_id, group_id, trace_header, attributes, body
  )
  select
    (p_queue).id,
    nextval('trunkline.message_ids'),
    v_now + make_interval(secs => coalesce(given.delay_seconds, (p_queue).delay_seconds)),
    v_now,
    given.message_id,
    given.sender_id,
    given.group_id,
    given.trace_header,
    given.attributes::jsonb,
    given.body
  from unnest(
    p_message_ids, p_bodies, p_sizes_bytes, p_delays_seconds, p_attributes, p_trace_headers, p_group_ids, p_sender_ids
  ) as given (message_id, body, size_bytes, delay_seconds, attributes, trace_header, group_id, sender_id)
  where given.size_bytes <= (p_queue).maximum_message_size_bytes;

  get diagnostics v_stored = row_count;
  if v_stored > 0 then
    insert into trunkline.count_deltas (queue_id, added, removed) values ((p_queue).id, v_stored, 0);
  end if;
  return (p_queue).maximum_message_size_bytes;
end
$$;
