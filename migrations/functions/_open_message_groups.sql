-- Sees to it that the groups of messages just stored have their rows. The caller holds the groups' send locks.
--
-- A row that is in use stays untouched: consumers may hold it, and a send waits for no consumer. A drained
-- row is taken into use again, unless a consumer is at it right now, who then does so. But where a drained group
-- has messages after all, and this transaction may go on for long, it stays as it is: the lock on it would keep
-- consumers away from them. p_may_revive says that the transaction ends right after.
--
-- A row that is empty has to be taken into use here: nobody else looks at it. Someone who has it locked is waited for;
-- that is a consumer who was too late to delete the group's last message.
--
-- Under repeatable read the rows in sight may be too old to be true. There message_group_names, which no snapshot
-- can hide a row of, and a lock on each row make the statement fail (40001) where a group has changed since.
create or replace function trunkline._open_message_groups(
  p_queue trunkline.queues,
  p_group_ids text[],
  p_ids bigint[],
  p_visible_at timestamptz,
  p_now timestamptz,
  p_may_revive boolean
)
returns void
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
  v_new_groups text[];
  v_new_ids bigint[];
  v_known tid[];
  v_empty_groups text[];
  v_empty_ids bigint[];
  v_empty tid[];
  v_drained tid[];
begin
  select
    -- In the order sent, which is then their order among equals.
    array_agg(sent.group_id order by sent.id) filter (where known.place is null),
    array_agg(sent.id order by sent.id) filter (where known.place is null),
    array_agg(known.place) filter (where known.place is not null),
    array_agg(sent.group_id order by sent.id) filter (where known.is_empty),
    array_agg(sent.id order by sent.id) filter (where known.is_empty),
    array_agg(known.place) filter (
      where known.drained_at is not null
        and not known.is_empty
        and (
          p_may_revive
          -- But for this transaction's own.
          or not exists (
            select
            from trunkline._group_head((p_queue).id, sent.group_id, known.head_id, '-infinity') as head
            where head.id < all (p_ids)
          )
        )
    )
  into v_new_groups, v_new_ids, v_known, v_empty_groups, v_empty_ids, v_drained
  from (
    select opened.group_id, min(opened.id) as id
    from unnest(p_group_ids, p_ids) as opened (group_id, id)
    group by opened.group_id
  ) as sent
  left join lateral (
    select latest.ctid as place, latest.head_id, latest.drained_at, latest.is_empty
    from trunkline.message_groups as latest
    where latest.queue_id = (p_queue).id and latest.group_id = sent.group_id
    order by latest.changed_at desc
    limit 1
  ) as known on true;

  if v_new_groups is not null then
    insert into trunkline.message_group_names (queue_id, group_id)
    select (p_queue).id, opened.group_id
    from unnest(v_new_groups) as opened (group_id)
    on conflict on constraint message_group_names_pkey do nothing;
    insert into trunkline.message_groups (queue_id, group_id, changed_at, head_id, visible_at)
    select (p_queue).id, opened.group_id, p_now, opened.id, p_visible_at
    from unnest(v_new_groups, v_new_ids) as opened (group_id, id);
  end if;
  if v_known is not null and current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    perform from trunkline.message_groups as known where known.ctid = any (v_known) for update skip locked;
  end if;
  if v_empty_groups is not null then
    v_empty := array(
      select locked.place
      from (
        -- Locked in the order in which consumers lock groups.
        select * from unnest(v_empty_groups) with ordinality as opened (group_id, position) order by opened.group_id
      ) as given
      cross join lateral (
        select known.ctid as place
        from trunkline.message_groups as known
        where known.queue_id = (p_queue).id and known.group_id = given.group_id
        order by known.changed_at desc
        limit 1
        for update
      ) as locked
      order by given.position
    );
    update trunkline.message_groups as known
    set changed_at = p_now, head_id = opened.id, visible_at = p_visible_at, drained_at = null, is_empty = false
    from unnest(v_empty, v_empty_ids) as opened (place, id)
    where known.ctid = opened.place;
  end if;
  if v_drained is not null then
    -- By their heads, which may be earlier messages than those just stored.
    perform trunkline._refresh_message_groups(
      p_queue,
      array(
        select row(known.group_id, known.head_id, known.ctid)::trunkline.locked_group
        from trunkline.message_groups as known
        where known.ctid = any (v_drained) and known.drained_at is not null
        for update skip locked
      ),
      p_now
    );
  end if;
end
$$;
