-- Where receiving from a queue may start: at its oldest message, or its oldest group if it is a FIFO queue,
-- where the look at drained groups may, and the removal of deduplication ids. Looks from p_from on (null: from the present
-- marks on), and answers nothing later than p_settled_at allows.
create or replace function trunkline._low_water_marks(
  p_queue_id bigint,
  p_settled_at timestamptz,
  p_from timestamptz default null
)
returns table (visible_from timestamptz, drained_from timestamptz, expires_from timestamptz)
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
  if not exists (select from trunkline.queues as queue where queue.id = p_queue_id and queue.is_fifo) then
    return query
    select
      least(p_settled_at, trunkline._oldest_message(p_queue_id, p_from, p_settled_at)), p_settled_at, p_settled_at;
    return;
  end if;

  return query
  select
    least(p_settled_at, trunkline._oldest_ready_group(p_queue_id, p_from, p_settled_at)),
    least(
      p_settled_at,
      (
        select drained.drained_at
        from trunkline.message_groups as drained
        where drained.queue_id = p_queue_id
          and not drained.is_empty
          and drained.drained_at >= coalesce(
            p_from,
            (select progress.drained_from from trunkline.queue_progress as progress where progress.queue_id = p_queue_id),
            '-infinity'
          )
          and drained.drained_at <= p_settled_at
        order by drained.drained_at
        limit 1
      )
    ),
    least(
      p_settled_at,
      (
        select known.expires_at
        from trunkline.deduplications as known
        where known.queue_id = p_queue_id
          and known.expires_at > '-infinity'
          and known.expires_at >= coalesce(
            p_from,
            (select progress.expires_from from trunkline.queue_progress as progress where progress.queue_id = p_queue_id),
            '-infinity'
          )
          and known.expires_at <= p_settled_at
        order by known.expires_at
        limit 1
      )
    );
end
$$;
