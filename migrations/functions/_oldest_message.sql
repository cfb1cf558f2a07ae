-- The smallest visible_at of a queue's messages at or after p_from (null: after the low-water mark) and not
-- after p_until. The end matters under an old snapshot, where a walk passes entries of deleted messages.
create or replace function trunkline._oldest_message(
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
    select message.visible_at
    from trunkline.messages as message
    where message.queue_id = p_queue_id
      and message.visible_at > '-infinity'
      and message.visible_at >= coalesce(
        p_from,
        (select progress.visible_from from trunkline.queue_progress as progress where progress.queue_id = p_queue_id),
        '-infinity'
      )
      and message.visible_at <= p_until
    order by message.visible_at
    limit 1
  );
end
$$;
