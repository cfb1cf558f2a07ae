-- Locks up to p_limit drained groups of a FIFO queue whose head is visible, those first whose head is so the
-- longest, among the p_examined that were drained last; leaves out those in p_except and those that
-- others have locked.
create or replace function trunkline._claim_drained_groups(
  p_queue trunkline.queues,
  p_limit integer,
  p_except text[],
  p_examined integer,
  p_now timestamptz
)
returns trunkline.locked_group[]
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return array(
    select row(locked.group_id, locked.head_id, locked.ctid)::trunkline.locked_group
    from trunkline._latest_drained_groups((p_queue).id, p_examined) as examined
    join trunkline.message_groups as locked on locked.ctid = examined.place
    cross join lateral trunkline._group_head(
      (p_queue).id, examined.group_id, examined.head_id,
      p_now - make_interval(secs => (p_queue).message_retention_seconds)
    ) as head
    where locked.drained_at is not null
      and examined.group_id <> all (p_except)
      and head.visible_at <= p_now
    order by head.visible_at
    limit p_limit
    for update of locked skip locked
  );
end
$$;
