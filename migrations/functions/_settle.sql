-- Moves what only a settled past allows: folds count deltas, and moves low-water marks up.
--
-- A point in time is settled when every transaction that could have written before it has ended. Every
-- writer takes its transaction id first and reads the clock or draws a delta id afterwards. A candidate is
-- made the other way round, clock and delta id first and this transaction's id afterwards; so whoever may
-- have written earlier times or ids has a smaller transaction id, and has ended once no smaller one is
-- running. pg_snapshot_xmin passes over transactions that only read, which is what keeps a report or a dump
-- from holding the marks back.
--
-- Answers how many deltas it folded: null when there are none to fold, or while another server is at it.
create or replace function trunkline._settle(p_now timestamptz default null)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_settlement trunkline.settlement;
  v_folded_through bigint;
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_last_delta_id bigint;
  v_folded bigint := 0;
begin
  if pg_current_xact_id_if_assigned() is not null then
    raise exception 'trunkline._settle() needs a transaction of its own.';
  end if;
  -- An idle database is left alone: not even a row is locked.
  if not exists (
      select
      from trunkline.count_deltas as delta
      where delta.id > (select settlement.settled_delta_id from trunkline.settlement)
    )
    and not exists (
      select
      from trunkline.queue_progress as progress
      where progress.sampled_at is null or progress.sampled_at between v_now - interval '5 minutes' and v_now
    )
  then
    return null;
  end if;
  select last_value into v_last_delta_id from trunkline.count_delta_ids;

  select * into v_settlement from trunkline.settlement for update skip locked;
  if not found then
    return null;
  end if;
  perform trunkline._sample_in_flight(v_now);
  if not exists (select from trunkline.count_deltas as delta where delta.id > v_settlement.settled_delta_id) then
    return null;
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
    ),
    moved as (
      insert into trunkline.queue_progress as progress (
        queue_id, added, removed, folded_through, visible_from, drained_from, expires_from
      )
      select
        active.queue_id,
        active.added,
        active.removed,
        v_settlement.settled_delta_id,
        mark.visible_from,
        mark.drained_from,
        mark.expires_from
      from active
      cross join lateral trunkline._low_water_marks(active.queue_id, v_settlement.settled_at) as mark
      on conflict (queue_id) do update
      set added = progress.added + excluded.added,
          removed = progress.removed + excluded.removed,
          folded_through = excluded.folded_through,
          visible_from = greatest(progress.visible_from, excluded.visible_from),
          drained_from = greatest(progress.drained_from, excluded.drained_from),
          expires_from = greatest(progress.expires_from, excluded.expires_from),
          sampled_at = case when progress.sampled_at > v_now - interval '5 minutes' then progress.sampled_at end
    )
    select count(*) into v_folded from folded;

    -- The next candidate, and only now: one that moved on while a transaction keeps it from settling would
    -- never settle under transactions that overlap without end. Another call may have made the present one after this
    -- one read the clock; it is only replaced by an earlier one when the clock was set back.
    if v_settlement.candidate_at not between v_now and coalesce(p_now, clock_timestamp()) then
      v_settlement.candidate_at := v_now;
    end if;
    v_settlement.candidate_delta_id := greatest(v_last_delta_id, v_settlement.candidate_delta_id);
    v_settlement.candidate_xid := pg_current_xact_id();

    update trunkline.settlement
    set settled_at = v_settlement.settled_at,
        settled_delta_id = v_settlement.settled_delta_id,
        candidate_at = v_settlement.candidate_at,
        candidate_delta_id = v_settlement.candidate_delta_id,
        candidate_xid = v_settlement.candidate_xid;
  end if;

  return v_folded;
end
$$;
