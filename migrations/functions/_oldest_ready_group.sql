-- The smallest visible_at of a FIFO queue's groups at or after p_from (null: after the low-water mark) and not
-- after p_until. The end matters under an old snapshot, where a walk passes entries of deleted messages.
create or replace function trunkline._oldest_ready_group(
  p_queue_id bigint,
  p_from timestamptz,
  p_until timestamptz default 'infinity'
)
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
    select ready.visible_at
    from trunkline.message_groups as ready
    where ready.queue_id = p_queue_id
      and ready.drained_at is null
      and ready.visible_at >= coalesce(
        p_from,
        (select progress.visible_from from trunkline.queue_progress as progress where progress.queue_id = p_queue_id),
        '-infinity'
      )
      and ready.visible_at <= p_until
    order by ready.visible_at
    limit 1
  );
end
$$;
