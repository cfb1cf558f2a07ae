-- How many messages a FIFO group has, counted up to 1000: a group may have millions.
create or replace function trunkline._report_group_depth(p_queue_id bigint, p_group_id text, p_head_id bigint)
returns bigint
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select count(*)
  from (
    select
    from trunkline.messages as message
    where message.queue_id = p_queue_id
      and message.group_id = p_group_id
      and message.deduplication_id is not null
      and message.id >= p_head_id
    order by message.id
    limit 1000
  ) as counted
$$;
