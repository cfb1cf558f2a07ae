-- Receives up to p_limit visible messages of a standard queue, those that have been visible the longest, in no
-- particular order.
--
-- Hides each for the visibility timeout (null: the queue's) and gives it a new receipt. Rows locked by
-- another receive are passed over, never waited for. Raises TQ002 when p_in_flight_limit messages are in flight.
--
-- Rows are locked by one statement and changed by the next, by their place in the table: that is the cheapest
-- way to them, and what is locked stays in its place.
--
-- The planner settings make every plan walk messages_visible_at_idx from the low-water mark, also while
-- statistics are stale: a sort or bitmap of a large backlog would take seconds. Where a plan cannot do
-- without what is off, up to PostgreSQL 17 its cost becomes so high that it would be compiled each time,
-- which takes a hundred times as long as to run it; hence jit. And beside a large backlog it would start
-- parallel workers to find a few rows.
create or replace function trunkline._receive_messages(
  p_queue trunkline.queues,
  p_limit integer,
  p_visibility_timeout_seconds integer,
  p_in_flight_limit integer,
  p_now timestamptz default null
)
returns table (
  message_id uuid,
  receipt_handle text,
  body text,
  attributes jsonb,
  sender_id text,
  sent_at timestamptz,
  first_received_at timestamptz,
  receive_count integer,
  group_id text,
  deduplication_id text,
  sequence_number bigint,
  trace_header text,
  dead_letter_source_arn text
)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_claimed tid[];
  v_progress trunkline.queue_progress;
  v_limit integer;
  -- One for all: a handle has the id of its message too. Each would be drawn from the system's randomness.
  v_nonce constant uuid := gen_random_uuid();
begin
  select * into v_progress from trunkline.queue_progress as progress where progress.queue_id = (p_queue).id;
  v_limit := least(
    p_limit,
    coalesce(
      trunkline._sampled_room(p_in_flight_limit, v_progress, v_now),
      trunkline._counted_room((p_queue).id, p_in_flight_limit, v_now)
    )
  );
  if v_limit <= 0 then
    raise exception 'Too many messages in flight: % is the maximum for this queue.', p_in_flight_limit
      using errcode = 'TQ002';
  end if;

  v_claimed := array(
    select message.ctid
    from trunkline.messages as message
    where message.queue_id = (p_queue).id
      and message.visible_at > '-infinity'
      and message.visible_at >= coalesce(v_progress.visible_from, '-infinity')
      and message.visible_at <= v_now
      and message.sent_at > v_now - make_interval(secs => (p_queue).message_retention_seconds)
    order by message.visible_at
    limit v_limit
    for update skip locked
  );
  if v_claimed = '{}' then
    return;
  end if;
  -- Read after rows are locked, so after the transaction has its id: settlement rests on that order.
  v_now := coalesce(p_now, clock_timestamp());

  return query
  update trunkline.messages as message
  set visible_at = v_now
        + make_interval(secs => coalesce(p_visibility_timeout_seconds, (p_queue).visibility_timeout_seconds)),
      received_at = v_now,
      first_received_at = coalesce(message.first_received_at, v_now),
      receive_count = message.receive_count + 1,
      receipt_nonce = v_nonce
  where message.ctid = any (v_claimed)
  returning
    message.message_id,
    trunkline._receipt_handle((p_queue).receipt_key, message.id, message.receipt_nonce),
    message.body,
    message.attributes,
    message.sender_id,
    message.sent_at,
    message.first_received_at,
    message.receive_count,
    message.group_id,
    message.deduplication_id,
    message.id,
    message.trace_header,
    message.dead_letter_source_arn;
end
$$;
