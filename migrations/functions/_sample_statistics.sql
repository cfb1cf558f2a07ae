-- Samples the figures of every queue, once in a minute of the clock; answers whether it did. Of several
-- servers the first does it.
--
-- Everything is read by one statement, so the figures of all queues are of one instant, and before anything is
-- written: a transaction that has its id holds settlement back.
create or replace function trunkline._sample_statistics(p_now timestamptz default null)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_minute timestamptz := date_trunc('minute', v_now);
  v_samples trunkline.queue_statistics[];
begin
  if not pg_try_advisory_xact_lock(hashtext('trunkline'), hashtext('sample statistics')) then
    return false;
  end if;
  -- A statement of its own: a sample that was committed before the lock was taken is in sight.
  if exists (
    select
    from trunkline.queue_statistics as sample
    where sample.sampled_at >= v_minute and sample.sampled_at < v_minute + interval '1 minute'
  ) then
    return false;
  end if;

  v_samples := array(
    select row(
      queue.account_id,
      queue.name,
      v_now,
      queue.id,
      counts.visible,
      counts.in_flight,
      counts.delayed,
      totals.added,
      totals.removed,
      least(
        settlement.settled_at,
        trunkline._oldest_message(queue.id, start.visible_from, settlement.settled_at)
      )
    )::trunkline.queue_statistics
    from trunkline.queues as queue
    cross join trunkline.settlement as settlement
    cross join lateral trunkline._queue_counts(queue.id, v_now) as counts
    cross join lateral trunkline._queue_totals(queue.id) as totals
    cross join lateral (
      select case
        -- From the beginning once an hour: a clock that was set back can leave a message before the mark.
        when extract(minute from v_now) <> 0 then trunkline._message_low_water_mark(queue)
        else '-infinity'
      end as visible_from
    ) as start
  );

  insert into trunkline.queue_statistics
  select * from unnest(v_samples);
  return true;
end
$$;
