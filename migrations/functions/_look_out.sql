-- For queues with waiting polls: is there a message to receive, and if not, in how many milliseconds will
-- there be one by the passing of time alone (null: not within a second). A queue that is gone has no row.
create or replace function trunkline._look_out(p_queue_ids bigint[], p_now timestamptz default null)
returns table (queue_id bigint, due_in_ms double precision)
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
#variable_conflict use_column
begin
  return query
  select
    queue.id,
    extract(epoch from next.visible_at - moment.now)::double precision * 1000
  from (
    select at.now, at.now + interval '1 second' as soon
    from (select coalesce(p_now, clock_timestamp()) as now) as at
  ) as moment
  cross join unnest(p_queue_ids) as waiting (queue_id)
  join trunkline.queues as queue on queue.id = waiting.queue_id
  cross join lateral (
    select case
      when queue.is_fifo
        then least(
          trunkline._oldest_ready_group(queue.id, null, moment.soon),
          trunkline._oldest_in_drained_groups(queue.id, 1000)
        )
      else trunkline._oldest_message(queue.id, null, moment.soon)
    end as visible_at
  ) as next;
end
$$;
