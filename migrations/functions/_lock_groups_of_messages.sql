-- Locks the group rows of messages and answers them. Waits for others, in order of group id; with p_may_wait false leaves
-- out what others have locked.
-- Every statement that may change a group's head locks the group first and its messages afterwards.
create or replace function trunkline._lock_groups_of_messages(
  p_queue_id bigint,
  p_ids bigint[],
  p_may_wait boolean default true
)
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
      select free.*
      from (
        select known.group_id, known.head_id, known.ctid as place
        from trunkline.message_groups as known
        where not p_may_wait and known.queue_id = p_queue_id and known.group_id = wanted.group_id
        order by known.changed_at desc
        limit 1
        for update skip locked
      ) as free
      union all
      select waited_for.*
      from (
        select known.group_id, known.head_id, known.ctid as place
        from trunkline.message_groups as known
        where p_may_wait and known.queue_id = p_queue_id and known.group_id = wanted.group_id
        order by known.changed_at desc
        limit 1
        for update
      ) as waited_for
    ) as locked
  );
end
$$;
