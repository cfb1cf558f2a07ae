-- Sets group rows by their heads, after a head may have changed. The caller has the rows locked, in a
-- statement before this one, so that the heads are read from a snapshot taken under the lock.
--
-- A group whose head is visible already counts from now on: so the group goes behind those that wait for a
-- receive longer, and no row ever gets a time in the past, which the low-water mark rests on.
create or replace function trunkline._refresh_message_groups(
  p_queue trunkline.queues,
  p_groups trunkline.locked_group[],
  p_now timestamptz
)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
begin
  update trunkline.message_groups as known
  set head_id = coalesce(head.id, known.head_id),
      visible_at = greatest(head.visible_at, p_now),
      drained_at = case when head.id is null then p_now end
  from unnest(p_groups) as locked (group_id, head_id, place)
  left join lateral trunkline._group_head(
    (p_queue).id, locked.group_id, locked.head_id,
    p_now - make_interval(secs => (p_queue).message_retention_seconds)
  ) as head on true
  where known.ctid = locked.place;
end
$$;
