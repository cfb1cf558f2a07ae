-- The safety net under the low-water marks: finds the oldest message of every queue without them and sets
-- each mark by it. Answers the queues whose mark had passed a message, as a clock that was set back can
-- cause; their messages are received from now on.
create or replace function trunkline._rescan_low_water_marks()
returns table (queue_id bigint, visible_from timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_settled_at timestamptz;
begin
  select settlement.settled_at into v_settled_at from trunkline.settlement for update skip locked;
  if not found then
    return;
  end if;

  return query
  with rescanned as materialized (
    select progress.queue_id, progress.visible_from as before, mark.visible_from as after
    from trunkline.queue_progress as progress
    join trunkline.queues as queue on queue.id = progress.queue_id
    cross join lateral (
      select trunkline._low_water_mark(progress.queue_id, v_settled_at, '-infinity') as visible_from
    ) as mark
    where mark.visible_from is distinct from progress.visible_from
  ),
  moved as (
    update trunkline.queue_progress as progress
    set visible_from = rescanned.after
    from rescanned
    where progress.queue_id = rescanned.queue_id
  )
  select rescanned.queue_id, rescanned.after
  from rescanned
  where rescanned.after < rescanned.before;
end
$$;
