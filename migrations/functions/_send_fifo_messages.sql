-- Stores messages in a FIFO queue. One row per message, in the order given:
--
--   refusal null                   stored, or a duplicate: then the ids are those of the first send
--   refusal 'too_long'             over the queue's maximum size, which the row tells
--   refusal 'no_deduplication_id'  none given, and the queue does not make them from the content
--
-- A group's messages are in the order in which their transactions commit, because the group's lock is
-- taken before a sequence number is drawn and held until then. Raises TQ001 when the queue is gone.
--
-- p_may_wait false is for a transaction of its own: it raises TQ006 instead of waiting for another
-- transaction that sends to the group, or 55P03 for one that sends with the same deduplication id or is at a group that
-- has just been emptied.
create or replace function trunkline._send_fifo_messages(
  p_queue_id bigint,
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
returns table (message_id uuid, sequence_number bigint, refusal text, maximum_message_size_bytes integer)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_queue trunkline.queues := trunkline._require_queue(p_queue_id);
  v_now timestamptz;
  v_visible_at timestamptz;
  v_refusals text[];
  -- Of the entries that are not refused, in the order given. Arrays are taken apart by unnest throughout: a
  -- subscript in a query walks a text array from its start, which for 100 000 messages takes minutes.
  v_positions bigint[];
  v_groups text[];
  v_deduplication_ids text[];
  v_message_ids uuid[];
  v_ids bigint[];
  v_is_first boolean[];
  v_lock_timeout text;
begin
  perform pg_current_xact_id();

  select
    array_agg(judged.refusal order by judged.position),
    array_agg(judged.position order by judged.position) filter (where judged.refusal is null),
    array_agg(judged.group_id order by judged.position) filter (where judged.refusal is null),
    array_agg(judged.deduplication_id order by judged.position) filter (where judged.refusal is null)
  into v_refusals, v_positions, v_groups, v_deduplication_ids
  from (
    select
      given.position,
      given.group_id,
      coalesce(
        given.deduplication_id,
        case when v_queue.content_based_deduplication then encode(sha256(convert_to(given.body, 'UTF8')), 'hex') end
      ) as deduplication_id,
      case
        when given.size_bytes > v_queue.maximum_message_size_bytes then 'too_long'
        when given.deduplication_id is null and not v_queue.content_based_deduplication then 'no_deduplication_id'
      end as refusal
    from unnest(p_bodies, p_sizes_bytes, p_group_ids, p_deduplication_ids) with ordinality
      as given (body, size_bytes, group_id, deduplication_id, position)
  ) as judged;

  if v_positions is not null then
    perform trunkline._lock_message_groups(p_queue_id, v_groups, p_may_wait);
    v_now := coalesce(p_now, clock_timestamp());
    v_visible_at := v_now + make_interval(secs => v_queue.delay_seconds);

    if not p_may_wait then
      v_lock_timeout := current_setting('lock_timeout');
      perform set_config('lock_timeout', '10ms', true);
    end if;
    -- Numbers are drawn in the order given, and not before the locks are held.
    select array_agg(known.message_id order by known.entry),
      array_agg(known.id order by known.entry),
      array_agg(known.is_first order by known.entry)
    into v_message_ids, v_ids, v_is_first
    from trunkline._deduplicate(
      p_queue_id,
      v_deduplication_ids,
      v_groups,
      v_queue.deduplication_scope = 'messageGroup',
      array(select gen_random_uuid() from generate_series(1, cardinality(v_positions))),
      array(select nextval('trunkline.message_ids') from generate_series(1, cardinality(v_positions))),
      v_now
    ) as known;

    with stored as (
      insert into trunkline.messages (
        queue_id, id, visible_at, sent_at, message_id, sender_id, group_id, deduplication_id, trace_header,
        attributes, body
      )
      select
        p_queue_id,
        accepted.id,
        v_visible_at,
        v_now,
        accepted.message_id,
        given.sender_id,
        accepted.group_id,
        accepted.deduplication_id,
        given.trace_header,
        given.attributes::jsonb,
        given.body
      from unnest(p_bodies, p_attributes, p_trace_headers, p_sender_ids) with ordinality
        as given (body, attributes, trace_header, sender_id, position)
      join unnest(v_positions, v_groups, v_deduplication_ids, v_message_ids, v_ids, v_is_first)
        as accepted (position, group_id, deduplication_id, message_id, id, is_first) using (position)
      where accepted.is_first
      order by accepted.id
      returning id
    )
    insert into trunkline.count_deltas (queue_id, added, removed)
    select p_queue_id, count(*), 0 from stored having count(*) > 0;

    perform trunkline._open_message_groups(
      v_queue, opened.groups, opened.ids, v_visible_at, v_now, not p_may_wait
    )
    from (
      select array_agg(accepted.group_id) as groups, array_agg(accepted.id) as ids
      from unnest(v_groups, v_ids, v_is_first) as accepted (group_id, id, is_first)
      where accepted.is_first
    ) as opened
    where opened.ids is not null;

    if not p_may_wait then
      perform set_config('lock_timeout', v_lock_timeout, true);
    end if;
  end if;

  return query
  select accepted.message_id, accepted.id, refused.reason, v_queue.maximum_message_size_bytes
  from unnest(v_refusals) with ordinality as refused (reason, position)
  left join unnest(v_positions, v_message_ids, v_ids) as accepted (position, message_id, id) using (position)
  order by refused.position;
end
$$;
