-- Locks the group rows of messages, in order of group id, and answers them. Waits for others.
-- Every statement that may change a group's head locks the group first and its messages afterwards.
create or replace function trunkline._lock_groups_of_messages(p_queue_id bigint, p_ids bigint[])
returns trunkline.locked_group[]
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return array(
    select row(locked.group_id, locked.head_id, locked.place)::trunkline.locked_group
    from (
      select distinct message.group_id
      from trunkline._find_messages(p_queue_id, p_ids) as message
      where message.id is not null
      order by message.group_id
    ) as wanted
    cross join lateral (
      select known.group_id, known.head_id, known.ctid as place
      from trunkline.message_groups as known
      where known.queue_id = p_queue_id and known.group_id = wanted.group_id
      order by known.changed_at desc
      limit 1
      for update
    ) as locked
  );
end
$$;
