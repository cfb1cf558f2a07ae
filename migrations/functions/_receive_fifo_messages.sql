-- Receives messages of a FIFO queue for one or more callers, up to p_limits each: as many as there are of the group that
-- waits longest, in order, then of the next groups. Within a group it stops at the first message that is not visible,
-- and a group goes to one caller. A row's entry is the caller's place in p_limits.
--
-- Under repeatable read a transaction does not get what it has sent itself: there may be earlier messages out of its sight.
--
-- Nothing comes back when p_in_flight_limit messages are in flight. With a p_attempt_id, which is for one caller, a repeat
-- within five minutes returns the same messages under the same handles and hides them anew; raises TQ005 when one of
-- them was deleted, changed or received again since. With p_is_own_transaction a repeat waits only briefly for
-- others that have its messages, and then raises 55P03.
--
-- Group rows are locked first, passing over those that others have; their messages are read in a later
-- statement, so from a snapshot taken under the lock. The first round locks one group for each caller, since one may have
-- all that is asked for; the next as many as messages are still wanted.
create or replace function trunkline._receive_fifo_messages(
  p_queue trunkline.queues,
  p_limits integer[],
  p_visibility_timeout_seconds integer,
  p_in_flight_limit integer,
  p_attempt_id text default null,
  p_now timestamptz default null,
  p_is_own_transaction boolean default false
)
returns table (
  entry integer,
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
  v_timeout interval := make_interval(
    secs => coalesce(p_visibility_timeout_seconds, (p_queue).visibility_timeout_seconds)
  );
  v_now timestamptz;
  v_room integer;
  -- Messages that each caller still wants.
  v_wanted integer[];
  -- The callers that get the groups of this round, in the order of groups.
  v_takers integer[];
  v_progress trunkline.queue_progress;
  v_ids bigint[] := '{}';
  v_groups trunkline.locked_group[];
  -- Groups that gave messages or have none to give.
  v_tried text[] := '{}';
  v_newly_tried text[];
  v_found bigint[];
  v_places tid[] := '{}';
  v_found_places tid[];
  v_group_places tid[] := '{}';
  v_found_group_places tid[];
  v_entries integer[] := '{}';
  v_found_entries integer[];
  v_idle trunkline.locked_group[];
  -- As in _receive_messages.
  v_nonce constant uuid := gen_random_uuid();
  v_first_unseen_id constant bigint := trunkline._first_unseen_id();
begin
  if p_attempt_id is not null then
    if p_is_own_transaction then
      perform set_config('lock_timeout', '100ms', true);
    end if;
    -- A repeat that comes while the first is under way waits for it, and then finds what it returned.
    perform pg_advisory_xact_lock(hashtextextended('receive attempt ' || p_attempt_id, (p_queue).id));
    v_ids := trunkline._repeat_receive(p_queue, p_attempt_id, v_timeout, p_now);
    v_entries := array_fill(1, array[cardinality(v_ids)]);
  end if;

  if cardinality(v_ids) = 0 then
    v_now := coalesce(p_now, clock_timestamp());
    select * into v_progress from trunkline.queue_progress as progress where progress.queue_id = (p_queue).id;
    v_room := coalesce(
      trunkline._sampled_room(p_in_flight_limit, v_progress, v_now),
      trunkline._counted_room((p_queue).id, p_in_flight_limit, v_now)
    );
    v_wanted := array(
      select
        greatest(least(caller.wanted, v_room - sum(caller.wanted) over (order by caller.entry) + caller.wanted), 0)
      from unnest(p_limits) with ordinality as caller (wanted, entry)
      order by caller.entry
    );

    while 0 < any (v_wanted) loop
      v_takers := array(
        select caller.entry
        from unnest(v_wanted) with ordinality as caller (wanted, entry)
        cross join generate_series(1, case when v_tried = '{}' then least(caller.wanted, 1) else caller.wanted end)
        order by caller.entry
      );
      v_groups := trunkline._claim_message_groups(p_queue, cardinality(v_takers), v_tried, v_now);
      exit when v_groups = '{}';

      select
        coalesce(array_agg(walked.id order by walked.position, walked.id) filter (where walked.is_taken), '{}'),
        coalesce(array_agg(walked.place order by walked.position, walked.id) filter (where walked.is_taken), '{}'),
        coalesce(array_agg(walked.group_place order by walked.position, walked.id) filter (where walked.is_taken), '{}'),
        coalesce(array_agg(walked.entry order by walked.position, walked.id) filter (where walked.is_taken), '{}'),
        coalesce(
          array_agg(row(walked.group_id, walked.head_id, walked.group_place)::trunkline.locked_group)
            filter (where walked.id is null),
          '{}'
        ),
        array_agg(distinct walked.group_id) filter (where walked.is_taken or walked.id is null)
      into v_found, v_found_places, v_found_group_places, v_found_entries, v_idle, v_newly_tried
      from (
        select
          claimed.*,
          free.id,
          free.place,
          free.id is not null
            and row_number() over (
              partition by claimed.entry, free.id is null order by claimed.position, free.id
            ) <= v_wanted[claimed.entry] as is_taken
        from unnest(v_groups, v_takers) with ordinality as claimed (group_id, head_id, group_place, entry, position)
        left join lateral (
          select message.id, message.place
          from (
            select
              listed.id,
              listed.place,
              bool_and(listed.visible_at <= v_now) over (order by listed.id) as is_free
            from (
              select message.id, message.ctid as place, message.visible_at
              from trunkline.messages as message
              -- As in _group_head.
              where message.queue_id = (p_queue).id
                and (message.group_id, message.id) >= (claimed.group_id, claimed.head_id)
                and message.group_id <= claimed.group_id
                and message.id < v_first_unseen_id
                and message.deduplication_id is not null
                and message.sent_at > v_now - make_interval(secs => (p_queue).message_retention_seconds)
              order by message.group_id, message.id
              limit v_wanted[claimed.entry]
            ) as listed
          ) as message
          where message.is_free
        ) as free on true
        where claimed.group_id is not null
      ) as walked;

      if v_idle <> '{}' then
        -- As below: read after rows are locked.
        perform trunkline._refresh_message_groups(p_queue, v_idle, coalesce(p_now, clock_timestamp()));
      end if;
      v_ids := v_ids || v_found;
      v_places := v_places || v_found_places;
      v_group_places := v_group_places || v_found_group_places;
      v_entries := v_entries || v_found_entries;
      v_tried := v_tried || v_newly_tried;
      v_wanted := array(
        select caller.wanted - count(found.entry)
        from unnest(v_wanted) with ordinality as caller (wanted, entry)
        left join unnest(v_found_entries) as found (entry) using (entry)
        group by caller.entry, caller.wanted
        order by caller.entry
      );
    end loop;

    if v_ids = '{}' then
      return;
    end if;
    -- Read after rows are locked, so after the transaction has its id: settlement rests on that order.
    v_now := coalesce(p_now, clock_timestamp());

    update trunkline.messages as message
    set visible_at = v_now + v_timeout,
        received_at = v_now,
        first_received_at = coalesce(message.first_received_at, v_now),
        receive_count = message.receive_count + 1,
        receipt_nonce = v_nonce
    where message.ctid = any (v_places);
    update trunkline.message_groups as known
    set changed_at = v_now, head_id = head.id, visible_at = v_now + v_timeout, drained_at = null
    from (
      -- In the order of the claim, which is then their order among equals.
      select received.group_place, min(received.id) as id
      from unnest(v_ids, v_group_places) with ordinality as received (id, group_place, position)
      group by received.group_place
      order by min(received.position)
    ) as head
    where known.ctid = head.group_place;
    if p_attempt_id is not null then
      insert into trunkline.receive_attempts as attempt (
        queue_id, attempt_id, message_ids, receipt_nonces, visible_at, expires_at
      )
      values (
        (p_queue).id,
        p_attempt_id,
        v_ids,
        array_fill(v_nonce, array[cardinality(v_ids)]),
        v_now + v_timeout,
        v_now + interval '5 minutes'
      )
      on conflict on constraint receive_attempts_pkey do update
      set message_ids = excluded.message_ids,
          receipt_nonces = excluded.receipt_nonces,
          visible_at = excluded.visible_at,
          expires_at = excluded.expires_at;
    end if;
  end if;

  return query
  select
    received.entry,
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
    message.dead_letter_source_arn
  from unnest(v_ids, v_entries) with ordinality as received (id, entry, position)
  cross join lateral (
    select *
    from trunkline.messages as found
    where found.queue_id = (p_queue).id and found.id = received.id
    limit 1
  ) as message
  order by received.entry, received.position;
end
$$;
