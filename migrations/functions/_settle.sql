-- Moves what only a settled past allows: folds count deltas, and moves low-water marks up.
--
-- A point in time is settled when every transaction that could have written before it has ended. Every
-- writer takes its transaction id first and reads the clock or draws a delta id afterwards; so once the
-- oldest running transaction is younger than the newest at the time of a candidate, all rows with earlier
-- times and ids are in sight. pg_snapshot_xmin passes over transactions that only read, which is what keeps
-- a report or a dump from holding the marks back.
--
-- Answers whether there may be more to settle soon: false when nothing was sent or deleted since the last
-- time, or while another server is at it.
create or replace function trunkline._settle(p_now timestamptz default null)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  v_settlement trunkline.settlement;
  v_folded_through bigint;
begin
  if not exists (
    select
    from trunkline.count_deltas as delta
    where delta.id > (select settlement.settled_delta_id from trunkline.settlement)
  ) then
    return false;
  end if;

  select * into v_settlement from trunkline.settlement for update skip locked;
  if not found then
    return false;
  end if;

  if pg_snapshot_xmin(pg_current_snapshot()) >= v_settlement.candidate_xid then
    v_folded_through := v_settlement.settled_delta_id;
    v_settlement.settled_at := v_settlement.candidate_at;
    v_settlement.settled_delta_id := v_settlement.candidate_delta_id;

    with folded as (
      delete from trunkline.count_deltas as delta
      where delta.id > v_folded_through
        and delta.id <= v_settlement.settled_delta_id
      returning delta.queue_id, delta.added, delta.removed
    ),
    active as (
      select folded.queue_id, sum(folded.added) as added, sum(folded.removed) as removed
      from folded
      group by folded.queue_id
    )
    insert into trunkline.queue_progress as progress (
      queue_id, added, removed, folded_through, visible_from, in_flight_sample, sampled_at
    )
    select
      active.queue_id,
      active.added,
      active.removed,
      v_settlement.settled_delta_id,
      trunkline._low_water_mark(active.queue_id, v_settlement.settled_at),
      counts.in_flight,
      coalesce(p_now, clock_timestamp())
    from active
    cross join lateral trunkline._queue_counts(active.queue_id, p_now) as counts
    on conflict (queue_id) do update
    set added = progress.added + excluded.added,
        removed = progress.removed + excluded.removed,
        folded_through = excluded.folded_through,
        visible_from = greatest(progress.visible_from, excluded.visible_from),
        in_flight_sample = excluded.in_flight_sample,
        sampled_at = excluded.sampled_at;
  end if;

  v_settlement.candidate_at := coalesce(p_now, clock_timestamp());
  select last_value into v_settlement.candidate_delta_id from trunkline.count_delta_ids;
  -- A statement of its own, so its snapshot is younger than the two values above.
  v_settlement.candidate_xid := pg_snapshot_xmax(pg_current_snapshot());

  update trunkline.settlement
  set settled_at = v_settlement.settled_at,
      settled_delta_id = v_settlement.settled_delta_id,
      candidate_at = v_settlement.candidate_at,
      candidate_delta_id = v_settlement.candidate_delta_id,
      candidate_xid = v_settlement.candidate_xid;
  return true;
end
$$;
