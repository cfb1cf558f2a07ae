-- Messages of a queue by state. Exact as of the statement's snapshot, except that messages past their
-- retention count as visible until the janitor has removed them.
--
-- The stored total comes from folded deltas and only hidden messages are counted one by one, so a backlog
-- of any size costs the same.
create or replace function trunkline._queue_counts(p_queue_id bigint, p_now timestamptz default null)
returns table (visible bigint, in_flight bigint, delayed bigint)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
begin
  return query
  with folded as (
    select
      coalesce(max(progress.added - progress.removed), 0) as stored,
      coalesce(max(progress.folded_through), 0) as folded_through
    from trunkline.queue_progress as progress
    where progress.queue_id = p_queue_id
  ),
  recent as (
    select coalesce(sum(delta.added - delta.removed), 0)::bigint as stored
    from trunkline.count_deltas as delta
    where delta.queue_id = p_queue_id
      and delta.id > (select folded.folded_through from folded)
  ),
  hidden as (
    select
      count(*) filter (where message.receive_count > 0) as in_flight,
      count(*) filter (where message.receive_count = 0) as delayed
    from (
      select listed.receive_count
      from trunkline.messages as listed
      where listed.queue_id = p_queue_id
        and listed.visible_at > '-infinity'
        -- In a subquery, so that it is a value and the index can begin there: bare, a volatile function is a
        -- filter over the whole queue.
        and listed.visible_at > (select coalesce(p_now, clock_timestamp()))
      -- Only the index on visible_at has this order, so no other is walked, whatever the statistics say.
      order by listed.visible_at
    ) as message
  )
  select
    greatest(folded.stored + recent.stored - hidden.in_flight - hidden.delayed, 0),
    hidden.in_flight,
    hidden.delayed
  from folded, recent, hidden;
end
$$;
