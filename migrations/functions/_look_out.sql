-- For queues with waiting polls: is there a message to receive, and if not, in how many milliseconds will
-- there be one by the passing of time alone (null: not in sight). A queue that is gone has no row.
create or replace function trunkline._look_out(p_queue_ids bigint[], p_now timestamptz default null)
returns table (queue_id bigint, due_in_ms double precision)
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
  select
    queue.id,
    extract(epoch from next.visible_at - coalesce(p_now, clock_timestamp()))::double precision * 1000
  from unnest(p_queue_ids) as waiting (queue_id)
  join trunkline.queues as queue on queue.id = waiting.queue_id
  left join lateral (
    select message.visible_at
    from trunkline.messages as message
    where message.queue_id = queue.id
      and message.visible_at >= coalesce(
        (select progress.visible_from from trunkline.queue_progress as progress where progress.queue_id = queue.id),
        '-infinity'
      )
    order by message.visible_at
    limit 1
  ) as next on true
$$;
