-- Removes the rows of drained groups that no send is under way to; answers how many. Holds their locks to
-- the end of the transaction, so it is not for transactions that go on for long.
create or replace function trunkline._remove_drained_groups(p_queue_id bigint, p_group_ids text[])
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_group_id text;
  v_removed bigint := 0;
begin
  for v_group_id in
    select drained.group_id
    from trunkline.message_groups as drained
    where drained.queue_id = p_queue_id
      and drained.group_id = any (p_group_ids)
      and drained.drained_at is not null
    order by drained.group_id
    for update skip locked
  loop
    begin
      perform trunkline._lock_message_groups(p_queue_id, array[v_group_id], false);
    exception when sqlstate 'TQ006' then
      continue;
    end;
    -- A statement of its own: a send that committed before the lock was taken is in sight.
    delete from trunkline.message_groups as drained
    where drained.queue_id = p_queue_id
      and drained.group_id = v_group_id
      and not exists (
        select from trunkline._group_head(p_queue_id, v_group_id, drained.head_id, '-infinity')
      );
    v_removed := v_removed + case when found then 1 else 0 end;
  end loop;
  return v_removed;
end
$$;
