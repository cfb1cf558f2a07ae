-- Stores messages in a FIFO queue. One row per message, in the order given:
--
--   refusal null                   stored, or a duplicate: then the ids are those of the first send
--   refusal 'too_long'             over the queue's maximum size, which the row tells
--   refusal 'no_deduplication_id'  none given, and the queue does not make them from the content
--
-- A group's messages are in the order in which their transactions commit, because the group's lock is
-- taken before a sequence number is drawn and held until then. With p_may_wait false raises TQ006 instead
-- of waiting for another transaction's lock. Raises TQ001 when the queue is gone.
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
set enable_seqscan = off
as $$
declare
  v_queue trunkline.queues := trunkline._require_queue(p_queue_id);
  v_now timestamptz;
  v_refusals text[];
  v_deduplication_ids text[];
  v_accepted integer[];
  v_message_ids uuid[];
  v_ids bigint[];
  v_stored integer[];
begin
  perform pg_current_xact_id();

  select
    array_agg(judged.refusal order by judged.position),
    array_agg(judged.deduplication_id order by judged.position),
    array_agg(judged.position order by judged.position) filter (where judged.refusal is null)
  into v_refusals, v_deduplication_ids, v_accepted
  from (
    select
      given.position::integer as position,
      coalesce(
        given.deduplication_id,
        case when v_queue.content_based_deduplication then encode(sha256(convert_to(given.body, 'UTF8')), 'hex') end
      ) as deduplication_id,
      case
        when given.size_bytes > v_queue.maximum_message_size_bytes then 'too_long'
        when given.deduplication_id is null and not v_queue.content_based_deduplication then 'no_deduplication_id'
      end as refusal
    from unnest(p_bodies, p_sizes_bytes, p_deduplication_ids) with ordinality
      as given (body, size_bytes, deduplication_id, position)
  ) as judged;

  if v_accepted is not null then
    perform trunkline._lock_message_groups(
      p_queue_id,
      array(select p_group_ids[accepted.position] from unnest(v_accepted) as accepted (position)),
      p_may_wait
    );
    v_now := coalesce(p_now, clock_timestamp());

    v_ids := array_fill(null::bigint, array[cardinality(p_bodies)]);
    v_message_ids := array_fill(null::uuid, array[cardinality(p_bodies)]);
    -- In the order given, and not before the locks are held.
    for i in 1 .. cardinality(v_accepted) loop
      v_ids[v_accepted[i]] := nextval('trunkline.message_ids');
      v_message_ids[v_accepted[i]] := gen_random_uuid();
    end loop;

    with claimed as (
      select v_accepted[known.entry] as position, known.message_id, known.id, known.is_first
      from trunkline._deduplicate(
        p_queue_id,
        array(select v_deduplication_ids[accepted.position] from unnest(v_accepted) as accepted (position)),
        array(
          select case when v_queue.deduplication_scope = 'messageGroup' then p_group_ids[accepted.position] else '' end
          from unnest(v_accepted) as accepted (position)
        ),
        array(select v_message_ids[accepted.position] from unnest(v_accepted) as accepted (position)),
        array(select v_ids[accepted.position] from unnest(v_accepted) as accepted (position)),
        v_now
      ) as known
    )
    select
      array_agg(claimed.position order by claimed.position) filter (where claimed.is_first),
      (select array_agg(coalesce(claimed.id, 0) order by entry.position)
       from generate_series(1, cardinality(p_bodies)) as entry (position) left join claimed using (position)),
      (select array_agg(claimed.message_id order by entry.position)
       from generate_series(1, cardinality(p_bodies)) as entry (position) left join claimed using (position))
    into v_stored, v_ids, v_message_ids
    from claimed;
  end if;

  if v_stored is not null then
    with stored as (
      insert into trunkline.messages (
        queue_id, id, visible_at, sent_at, message_id, sender_id, group_id, deduplication_id, trace_header,
        attributes, body
      )
      select
        p_queue_id,
        v_ids[entry.position],
        v_now + make_interval(secs => v_queue.delay_seconds),
        v_now,
        v_message_ids[entry.position],
        p_sender_ids[entry.position],
        p_group_ids[entry.position],
        v_deduplication_ids[entry.position],
        p_trace_headers[entry.position],
        p_attributes[entry.position]::jsonb,
        p_bodies[entry.position]
      from unnest(v_stored) as entry (position)
      order by entry.position
    )
    insert into trunkline.count_deltas (queue_id, added, removed)
    values (p_queue_id, cardinality(v_stored), 0);

    perform trunkline._open_message_groups(
      p_queue_id,
      array(select p_group_ids[entry.position] from unnest(v_stored) as entry (position)),
      array(select v_ids[entry.position] from unnest(v_stored) as entry (position)),
      v_now + make_interval(secs => v_queue.delay_seconds)
    );
  end if;

  return query
  select
    v_message_ids[entry.position],
    v_ids[entry.position],
    v_refusals[entry.position],
    v_queue.maximum_message_size_bytes
  from generate_series(1, cardinality(p_bodies)) as entry (position)
  order by entry.position;
end
$$;
