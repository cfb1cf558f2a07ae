-- The latest sample of a queue's present contents, or null.
create or replace function trunkline._latest_sample(p_queue_id bigint)
returns trunkline.queue_statistics
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
  select sample.*
  from trunkline.queues as queue
  cross join lateral (
    select *
    from trunkline.queue_statistics as latest
    where latest.account_id = queue.account_id and latest.queue_name = queue.name
    order by latest.sampled_at desc
    limit 1
  ) as sample
  where queue.id = p_queue_id and sample.queue_id = p_queue_id
$$;
