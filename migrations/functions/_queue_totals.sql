-- How many messages were ever added to a queue's present contents and removed from them: removed are those
-- deleted, expired, or moved to another queue. Exact as of the statement's snapshot; costs the same at any
-- backlog, as _queue_counts does.
create or replace function trunkline._queue_totals(p_queue_id bigint)
returns table (added bigint, removed bigint)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  return query
  with folded as (
    select
      coalesce(max(progress.added), 0) as added,
      coalesce(max(progress.removed), 0) as removed,
      coalesce(max(progress.folded_through), 0) as folded_through
    from trunkline.queue_progress as progress
    where progress.queue_id = p_queue_id
  ),
  recent as (
    select
      coalesce(sum(delta.added), 0)::bigint as added,
      coalesce(sum(delta.removed), 0)::bigint as removed
    from trunkline.count_deltas as delta
    where delta.queue_id = p_queue_id
      and delta.id > (select folded.folded_through from folded)
  )
  select folded.added + recent.added, folded.removed + recent.removed
  from folded, recent;
end
$$;
