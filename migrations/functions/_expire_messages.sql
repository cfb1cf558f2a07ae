-- Removes up to p_limit messages past their queue's retention; answers how many. Oldest ids first, which is
-- close to oldest first: a queue is left at its first batch without an expired message.
-- Nothing is waited for: what somebody has locked is left for the next time.
create or replace function trunkline._expire_messages(p_limit integer, p_now timestamptz default null)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_now timestamptz;
  v_queue trunkline.queues;
  v_ids bigint[];
  v_groups text[];
  v_locked_groups trunkline.locked_group[];
  v_places tid[];
  v_removed bigint := 0;
  v_removed_here bigint;
begin
  if not pg_try_advisory_xact_lock(hashtext('trunkline'), hashtext('expire messages')) then
    return 0;
  end if;
  -- The transaction has its id before it reads the clock: settlement rests on that order.
  perform pg_current_xact_id();
  v_now := coalesce(p_now, clock_timestamp());

  for v_queue in
    select queue.*
    from trunkline.queues as queue
    cross join lateral (
      select oldest.sent_at
      from trunkline.messages as oldest
      where oldest.queue_id = queue.id
      order by oldest.id
      limit 1
    ) as first
    where first.sent_at <= v_now - make_interval(secs => queue.message_retention_seconds)
  loop
    exit when v_removed >= p_limit;

    select
      coalesce(array_agg(oldest.id), '{}'),
      coalesce(array_agg(distinct oldest.group_id) filter (where v_queue.is_fifo), '{}')
    into v_ids, v_groups
    from (
      select message.id, message.group_id, message.sent_at
      from trunkline.messages as message
      where message.queue_id = v_queue.id
      order by message.id
      limit p_limit - v_removed
    ) as oldest
    where oldest.sent_at <= v_now - make_interval(secs => v_queue.message_retention_seconds);

    -- Groups first, then their messages, as everybody does.
    v_locked_groups := array(
      select row(locked.group_id, locked.head_id, locked.place)::trunkline.locked_group
      from unnest(v_groups) as expired (group_id)
      cross join lateral (
        select known.group_id, known.head_id, known.ctid as place
        from trunkline.message_groups as known
        where known.queue_id = v_queue.id and known.group_id = expired.group_id
        order by known.changed_at desc
        limit 1
        for update skip locked
      ) as locked
    );
    v_places := array(
      select removable.place
      from unnest(v_ids) as expired (id)
      cross join lateral (
        select message.ctid as place, message.group_id
        from trunkline.messages as message
        where message.queue_id = v_queue.id and message.id = expired.id
        limit 1
        for update skip locked
      ) as removable
      where not v_queue.is_fifo
        or removable.group_id in (select locked.group_id from unnest(v_locked_groups) as locked)
        -- The group went on without it, and its row has gone since.
        or not exists (
          select
          from trunkline.message_group_names as known
          where known.queue_id = v_queue.id and known.group_id = removable.group_id
        )
    );
    delete from trunkline.messages as message where message.ctid = any (v_places);
    get diagnostics v_removed_here = row_count;

    if v_removed_here > 0 then
      insert into trunkline.count_deltas (queue_id, added, removed)
      values (v_queue.id, 0, v_removed_here);
      v_removed := v_removed + v_removed_here;
    end if;
    if v_locked_groups <> '{}' then
      perform trunkline._refresh_message_groups(v_queue, v_locked_groups, v_now);
    end if;
  end loop;
  return v_removed;
end
$$;
