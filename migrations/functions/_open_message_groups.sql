-- Sees to it that the groups of messages just stored have their rows. The caller holds the groups' locks.
--
-- A row that is in use stays untouched: consumers may hold it, and a send waits for no consumer. A drained
-- row is taken into use again, unless a consumer is at it right now, who then does so. But where a drained group
-- has messages after all, and this transaction may go on for long, it stays as it is: the lock on it would keep
-- consumers away from them. p_may_revive says that the transaction ends right after.
--
-- Whether a row is there is read first, because an insert that meets a row under change waits for the
-- change to commit. Under repeatable read that read may be too old to be true, so there the insert itself
-- has to find out, at the risk of waiting or of a serialization failure (40001).
--
-- Groups are looked up one by one: a join of all groups of the queue would pass every version that an old snapshot
-- keeps of any of them.
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
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_drained trunkline.locked_group[];
begin
  insert into trunkline.message_groups (queue_id, group_id, head_id, visible_at)
  select (p_queue).id, opened.group_id, min(opened.id), p_visible_at
  from unnest(p_group_ids, p_ids) as opened (group_id, id)
  where current_setting('transaction_isolation') <> 'read committed' or not exists (
    select
    from trunkline.message_groups as known
    where known.queue_id = (p_queue).id and known.group_id = opened.group_id
  )
  group by opened.group_id
  on conflict on constraint message_groups_pkey do nothing;

  v_drained := array(
    select row(known.group_id, known.head_id, known.ctid)::trunkline.locked_group
    from trunkline.message_groups as known
    where known.queue_id = (p_queue).id
      and known.group_id = any (p_group_ids)
      and known.drained_at is not null
      and (
        p_may_revive
        -- But for this transaction's own.
        or not exists (
          select
          from trunkline._group_head((p_queue).id, known.group_id, known.head_id, '-infinity') as head
          where head.id < all (p_ids)
        )
      )
    order by known.group_id
    for update skip locked
  );
  -- By their heads, which may be earlier messages than those just stored.
  perform trunkline._refresh_message_groups(p_queue, v_drained, p_now);
end
$$;
