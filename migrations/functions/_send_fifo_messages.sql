-- Stores messages in a FIFO queue. One row per message, in the order given:
--
--   refusal null                   stored, or a duplicate: then the ids are those of the first send
--   refusal 'too_long'             over the queue's maximum size
--   refusal 'no_deduplication_id'  none given, and the queue does not make them from the content
--
-- A group's messages are in the order in which their transactions commit, because the group's lock is
-- taken before a sequence number is drawn and held until then.
--
-- p_may_wait false is for a transaction of its own: it raises TQ006 instead of waiting for another
-- transaction that sends to the group, or 55P03 for one that sends with the same deduplication id or is at a group that
-- has just been emptied.
create or replace function trunkline._send_fifo_messages(
  p_queue trunkline.queues,
  p_message_ids uuid[],
  p_bodies text[],
  p_sizes_bytes integer[],
  p_attributes text[],
  p_trace_headers text[],
  p_group_ids text[],
  p_deduplication_ids text[],
  p_sender_ids text[],
  p_may_wait boolean default true,
  p_now timestamptz default null
)
returns table (message_id uuid, sequence_number bigint, refusal text)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_now timestamptz;
  v_visible_at timestamptz;
  v_deduplication_ids text[] := p_deduplication_ids;
  v_message_ids uuid[];
  v_ids bigint[];
  v_is_first boolean[];
  v_stored bigint;
  v_lock_timeout text;
begin
  perform pg_current_xact_id();
  -- Arrays are taken apart by unnest throughout: a subscript in a query walks a text array from its start, which for
  -- 100 000 messages takes minutes.
  if (p_queue).content_based_deduplication then
    v_deduplication_ids := array(
      select coalesce(given.deduplication_id, encode(sha256(convert_to(given.body, 'UTF8')), 'hex'))
      from unnest(p_bodies, p_deduplication_ids) with ordinality as given (body, deduplication_id, position)
      order by given.position
    );
  end if;
  if (p_queue).maximum_message_size_bytes < any (p_sizes_bytes)
    -- Where none is null this is true, the empty text being the first of all. array_position takes no rows of rows.
    or ('' <= all (v_deduplication_ids collate "C")) is null
  then
    return query
    select * from trunkline._send_acceptable_fifo_messages(
      p_queue, p_message_ids, p_bodies, p_sizes_bytes, p_attributes, p_trace_headers, p_group_ids, v_deduplication_ids,
      p_sender_ids, p_may_wait, p_now
    );
    return;
  end if;

  perform trunkline._lock_message_groups((p_queue).id, p_group_ids, p_may_wait);
  v_now := coalesce(p_now, clock_timestamp());
  v_visible_at := v_now + make_interval(secs => (p_queue).delay_seconds);

  if not p_may_wait then
    v_lock_timeout := current_setting('lock_timeout');
    perform set_config('lock_timeout', '10ms', true);
  end if;
  -- Numbers are drawn in the order given, and not before the locks are held.
  v_ids := array(select nextval('trunkline.message_ids') from generate_series(1, cardinality(p_message_ids)));
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable')
    and v_ids[1] < trunkline._first_unseen_id()
  then
    perform set_config('trunkline.first_sent_id', v_ids[1]::text, true);
  end if;
  select * into v_message_ids, v_ids, v_is_first
  from trunkline._deduplicate(
    p_queue,
    v_deduplication_ids,
    p_group_ids,
    p_message_ids,
    v_ids,
    v_now
  );

  insert into trunkline.messages (
    queue_id, id, visible_at, sent_at, message_id, sender_id, group_id, deduplication_id, trace_header, attributes, body
  )
  select
    (p_queue).id,
    given.id,
    v_visible_at,
    v_now,
    given.message_id,
    given.sender_id,
    given.group_id,
    given.deduplication_id,
    given.trace_header,
    given.attributes::jsonb,
    given.body
  from unnest(
    v_ids, v_message_ids, p_sender_ids, p_group_ids, v_deduplication_ids, p_trace_headers, p_attributes, p_bodies, v_is_first
  ) as given (id, message_id, sender_id, group_id, deduplication_id, trace_header, attributes, body, is_first)
  where given.is_first;

  get diagnostics v_stored = row_count;
  if v_stored > 0 then
    insert into trunkline.count_deltas (queue_id, added, removed) values ((p_queue).id, v_stored, 0);
    perform trunkline._open_message_groups(
      p_queue, opened.groups, opened.ids, v_visible_at, v_now, not p_may_wait
    )
    from (
      select array_agg(given.group_id) as groups, array_agg(given.id) as ids
      from unnest(p_group_ids, v_ids, v_is_first) as given (group_id, id, is_first)
      where given.is_first
    ) as opened;
  end if;
  if not p_may_wait then
    perform set_config('lock_timeout', v_lock_timeout, true);
  end if;

  return query
  select sent.message_id, sent.id, null::text
  from unnest(v_message_ids, v_ids) with ordinality as sent (message_id, id, position)
  order by sent.position;
end
$$;
