-- The smallest visible_at of heads of drained groups, among the p_examined that were drained last. They
-- have heads when a send was under way to them while they were drained.
create or replace function trunkline._oldest_in_drained_groups(p_queue_id bigint, p_examined integer)
returns timestamptz
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return (
    select min(head.visible_at)
    from trunkline._latest_drained_groups(p_queue_id, p_examined) as examined
    cross join lateral trunkline._group_head(p_queue_id, examined.group_id, examined.head_id, '-infinity') as head
  );
end
$$;
