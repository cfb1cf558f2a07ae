-- Removes up to p_limit rows of groups that have been empty for a minute; answers how many. Holds their send locks
-- to the end of the transaction, so it is not for transactions that go on for long.
--
-- A group that is empty now and then keeps its row meanwhile: to take that into use again costs less than to make
-- a new one, and every life of a row leaves something behind under an old snapshot.
create or replace function trunkline._remove_empty_groups(p_queue_id bigint, p_limit integer, p_now timestamptz)
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
  v_send_locked text[];
  v_places tid[];
  v_removed bigint;
begin
  v_send_locked := array(
    select idle.group_id
    from (
      select known.group_id
      from trunkline.message_groups as known
      where known.queue_id = p_queue_id and known.is_empty and known.drained_at <= p_now - interval '1 minute'
      order by known.drained_at
      limit p_limit
    ) as idle
    where trunkline._try_message_group_lock(p_queue_id, idle.group_id)
  );

  -- A statement of its own: a send that committed before the lock was taken has the row in use.
  v_places := array(
    select locked.place
    from unnest(v_send_locked) as idle (group_id)
    cross join lateral (
      select known.ctid as place, known.is_empty
      from trunkline.message_groups as known
      where known.queue_id = p_queue_id and known.group_id = idle.group_id
      order by known.changed_at desc
      limit 1
      for update skip locked
    ) as locked
    where locked.is_empty
  );
  with removed as (
    delete from trunkline.message_groups as known where known.ctid = any (v_places) returning known.group_id
  )
  delete from trunkline.message_group_names as known
  where known.ctid = any (array(
    select named.place
    from removed
    cross join lateral (
      select name.ctid as place
      from trunkline.message_group_names as name
      where name.queue_id = p_queue_id and name.group_id = removed.group_id
      limit 1
    ) as named
  ));
  get diagnostics v_removed = row_count;
  return v_removed;
end
$$;
