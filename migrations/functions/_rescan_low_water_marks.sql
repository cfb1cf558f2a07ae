-- The safety net under the low-water marks: finds the oldest message, or group, of every queue without them and sets
-- the marks by it. Answers the queues with a mark that had passed one, as a clock that was set back can
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
    select
      progress.queue_id,
      mark.visible_from,
      mark.drained_from,
      mark.expires_from,
      mark.visible_from < progress.visible_from or mark.drained_from < progress.drained_from as had_passed
    from trunkline.queue_progress as progress
    join trunkline.queues as queue on queue.id = progress.queue_id
    cross join lateral trunkline._low_water_marks(progress.queue_id, v_settled_at, '-infinity') as mark
    where (mark.visible_from, mark.drained_from, mark.expires_from)
      <> (progress.visible_from, progress.drained_from, progress.expires_from)
  ),
  moved as (
    update trunkline.queue_progress as progress
    set visible_from = rescanned.visible_from,
        drained_from = rescanned.drained_from,
        expires_from = rescanned.expires_from
    from rescanned
    where progress.queue_id = rescanned.queue_id
  )
  select rescanned.queue_id, rescanned.visible_from
  from rescanned
  where rescanned.had_passed;
end
$$;
