-- Removes up to p_limit samples older than trunkline.settings says; answers how many.
create or replace function trunkline._forget_statistics(p_limit integer, p_now timestamptz default null)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_oldest timestamptz := coalesce(p_now, clock_timestamp())
    - (select settings.statistics_retention from trunkline.settings);
  v_removed bigint;
begin
  if not pg_try_advisory_xact_lock(hashtext('trunkline'), hashtext('forget statistics')) then
    return 0;
  end if;

  delete from trunkline.queue_statistics as sample
  where sample.ctid = any (array(
    select old.ctid
    from trunkline.queue_statistics as old
    where old.sampled_at < v_oldest
    order by old.sampled_at
    limit p_limit
    for update skip locked
  ));
  get diagnostics v_removed = row_count;
  return v_removed;
end
$$;
