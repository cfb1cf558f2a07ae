-- One row of trunkline.queue_backlog. Functions named _report_… are what the views call: they run with the
-- rights of their owner, and trunkline_report may execute them.
--
-- Costs the same at any backlog: counts come from _queue_counts, so in time with the hidden messages only, the
-- oldest message from the low-water mark, rates from two totals.
create or replace function trunkline._report_backlog(p_queue_id bigint, p_now timestamptz)
returns table (
  visible bigint,
  in_flight bigint,
  delayed bigint,
  oldest_visible_age interval,
  oldest_in_flight_age interval,
  dead_letters_waiting bigint,
  in_per_minute numeric,
  out_per_minute numeric,
  estimated_drain_time interval
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  v_queue trunkline.queues := trunkline._require_queue(p_queue_id);
  v_oldest_visible_at timestamptz := trunkline._oldest_message(
    p_queue_id, trunkline._message_low_water_mark(v_queue), p_now
  );
  v_since trunkline.queue_statistics;
  v_minutes numeric;
begin
  -- Half a minute at least, or one batch would look like a torrent.
  select * into v_since
  from trunkline.queue_statistics as sample
  where sample.account_id = v_queue.account_id
    and sample.queue_name = v_queue.name
    and sample.queue_id = p_queue_id
    and sample.sampled_at between p_now - interval '5 minutes' and p_now - interval '30 seconds'
  order by sample.sampled_at
  limit 1;
  v_minutes := extract(epoch from p_now - v_since.sampled_at) / 60;

  return query
  select
    counts.visible,
    counts.in_flight,
    counts.delayed,
    p_now - v_oldest_visible_at,
    p_now - (
      select min(in_flight.received_at)
      from trunkline._report_in_flight(p_queue_id, p_now) as in_flight
    ),
    (
      select greatest(dead.added - dead.removed, 0)
      from trunkline.queues as target
      cross join lateral trunkline._queue_totals(target.id) as dead
      where target.account_id = split_part(v_queue.dead_letter_target_arn, ':', 5)
        and target.name = split_part(v_queue.dead_letter_target_arn, ':', 6)
    ),
    round(rate.incoming, 2),
    round(rate.outgoing, 2),
    case
      when stored.messages = 0 then interval '0'
      when rate.outgoing > rate.incoming
        then make_interval(secs => round(60 * stored.messages / (rate.outgoing - rate.incoming))::double precision)
    end
  from trunkline._queue_counts(p_queue_id, p_now) as counts
  cross join trunkline._queue_totals(p_queue_id) as totals
  cross join lateral (select counts.visible + counts.in_flight + counts.delayed as messages) as stored
  cross join lateral (
    select
      (totals.added - v_since.added_total) / v_minutes as incoming,
      (totals.removed - v_since.removed_total) / v_minutes as outgoing
  ) as rate;
end
$$;
