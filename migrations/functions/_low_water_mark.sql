-- The oldest visible_at of a queue at or after p_from, but not later than p_settled_at.
create or replace function trunkline._low_water_mark(
  p_queue_id bigint,
  p_settled_at timestamptz,
  p_from timestamptz default null
)
returns timestamptz
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
  select least(
    p_settled_at,
    (
      select message.visible_at
      from trunkline.messages as message
      where message.queue_id = p_queue_id
        and message.visible_at >= coalesce(
          p_from,
          (select progress.visible_from from trunkline.queue_progress as progress where progress.queue_id = p_queue_id),
          '-infinity'
        )
      order by message.visible_at
      limit 1
    )
  )
$$;
