-- Looks at messages without receiving them. Nothing is changed or locked, so it works on a read replica too.
--
-- In order of the time from which a message is visible, which is the order in which a standard queue gives
-- messages out: those visible longest first, then those that are in flight or delayed; the other way round with
-- newest_first. With message_state ('visible', 'in_flight', 'delayed') only one kind. Up to 1000 at once.
-- Messages past their retention are left out, as a receive does.
--
-- Costs the same at any backlog; looking for one kind of hidden messages passes over those of the other kind.
create or replace function trunkline.message_peek(
  queue_name text,
  max_number_of_messages integer default 10,
  message_state text default null,
  newest_first boolean default false
)
returns table (
  message_id uuid,
  state text,
  age interval,
  body text,
  message_attributes jsonb,
  sent_at timestamptz,
  visible_at timestamptz,
  first_received_at timestamptz,
  receive_count integer,
  sender_id text,
  message_group_id text,
  message_deduplication_id text,
  sequence_number text,
  dead_letter_queue_source_arn text
)
language plpgsql
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
#variable_conflict use_column
declare
  v_queue trunkline.queues := trunkline._find_queue(queue_name);
  v_now timestamptz := clock_timestamp();
  v_oldest_sent_at timestamptz := v_now - make_interval(secs => v_queue.message_retention_seconds);
  v_from timestamptz;
  v_to timestamptz;
  v_ids bigint[];
begin
  if max_number_of_messages is null or max_number_of_messages not between 1 and 1000 then
    raise exception 'Value % for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 1000, if provided.', max_number_of_messages
      using errcode = 'TQ012';
  elsif message_state not in ('visible', 'in_flight', 'delayed') then
    raise exception 'Value % for parameter MessageState is invalid. Reason: Must be visible, in_flight or delayed, if provided.', message_state
      using errcode = 'TQ012';
  end if;
  v_from := case
    when message_state in ('in_flight', 'delayed') then v_now
    else trunkline._message_low_water_mark(v_queue)
  end;
  v_to := case when message_state = 'visible' then v_now else 'infinity' end;

  -- Two statements, because only a fixed direction can be the index's.
  if newest_first then
    v_ids := array(
      select message.id
      from trunkline.messages as message
      where message.queue_id = v_queue.id
        and message.visible_at > '-infinity'
        and message.visible_at between v_from and v_to
        and message.sent_at > v_oldest_sent_at
        and (message_state is null or message_state = trunkline._message_state(message, v_now))
      order by message.visible_at desc
      limit max_number_of_messages
    );
  else
    v_ids := array(
      select message.id
      from trunkline.messages as message
      where message.queue_id = v_queue.id
        and message.visible_at > '-infinity'
        and message.visible_at between v_from and v_to
        and message.sent_at > v_oldest_sent_at
        and (message_state is null or message_state = trunkline._message_state(message, v_now))
      order by message.visible_at
      limit max_number_of_messages
    );
  end if;

  return query
  select
    message.message_id,
    trunkline._message_state(message, v_now),
    v_now - message.sent_at,
    message.body,
    message.attributes,
    message.sent_at,
    message.visible_at,
    message.first_received_at,
    message.receive_count,
    message.sender_id,
    message.group_id,
    message.deduplication_id,
    case when v_queue.is_fifo then trunkline._sequence_number(message.id) end,
    message.dead_letter_source_arn
  from trunkline.messages as message
  where message.queue_id = v_queue.id and message.id = any (v_ids)
  order by array_position(v_ids, message.id);
end
$$;
