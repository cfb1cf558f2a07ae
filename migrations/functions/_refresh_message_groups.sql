-- Sets group rows by their heads, after a head may have changed; answers how many are drained and not known to be
-- empty. The caller has the rows locked, in a statement before this one, so that the heads are read from a snapshot
-- taken under the lock.
--
-- A group whose head is visible already counts from now on: so the group goes behind those that wait for a
-- receive longer, and no row ever gets a time in the past, which the low-water marks rest on.
--
-- With p_is_own_transaction, of one that ends right after, the send locks of groups without a message are taken as far
-- as they are free: a send that is under way to a group has its lock. What has no message even then is empty.
--
-- A message that may come after one out of sight is not taken for a head: the group counts as drained, and is looked into.
create or replace function trunkline._refresh_message_groups(
  p_queue trunkline.queues,
  p_groups trunkline.locked_group[],
  p_now timestamptz,
  p_is_own_transaction boolean default false
)
returns integer
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
  v_are_send_locked boolean[];
  v_sent_after timestamptz := p_now - make_interval(secs => (p_queue).message_retention_seconds);
  v_first_unseen_id constant bigint := trunkline._first_unseen_id();
  v_unclear integer;
begin
  -- Under repeatable read, which a database may have as its default, the lock would come too late for what is in sight.
  if p_is_own_transaction and current_setting('transaction_isolation') = 'read committed' then
    v_are_send_locked := array(
      select
        case
          -- Whatever its age: what is past its retention is not when that is made longer.
          when exists (select from trunkline._group_head((p_queue).id, locked.group_id, locked.head_id, '-infinity'))
            then false
          else trunkline._try_message_group_lock((p_queue).id, locked.group_id)
        end
      from unnest(p_groups) as locked (group_id, head_id, place)
    );
  end if;

  with refreshed as (
    update trunkline.message_groups as known
    set changed_at = p_now,
        head_id = coalesce(head.id, known.head_id),
        visible_at = greatest(head.visible_at, p_now),
        drained_at = case when head.id is null then p_now end,
        is_empty = head.id is null and coalesce(locked.is_send_locked, false)
    from unnest(p_groups, v_are_send_locked) as locked (group_id, head_id, place, is_send_locked)
    left join lateral trunkline._group_head((p_queue).id, locked.group_id, locked.head_id, v_sent_after) as head
      on head.id < v_first_unseen_id
    where known.ctid = locked.place
    returning known.drained_at, known.is_empty
  )
  select count(*) into v_unclear from refreshed where refreshed.drained_at is not null and not refreshed.is_empty;
  return v_unclear;
end
$$;
