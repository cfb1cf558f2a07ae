-- How many more messages of the queue may be in flight.
--
-- Counting what is in flight costs time in proportion, so a sample of the last seconds is enough: one that is below
-- nine tenths of the limit, and an older one below half of it. A limit of some thousands can be passed between two
-- samples, so there it has to be below a tenth. Near the limit, or without a sample, the count is exact.
create or replace function trunkline._in_flight_room(
  p_queue_id bigint,
  p_in_flight_limit integer,
  p_progress trunkline.queue_progress,
  p_now timestamptz
)
returns integer
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
begin
  if p_in_flight_limit >= 10000
    and (p_progress).in_flight_sample < p_in_flight_limit * (case when p_in_flight_limit < 50000 then 0.1 else 0.9 end)
    and p_now - (p_progress).sampled_at between interval '0' and trunkline._sample_lifetime(p_progress)
      * (case when p_in_flight_limit >= 50000 and (p_progress).in_flight_sample < 0.5 * p_in_flight_limit then 4 else 2 end)
  then
    return p_in_flight_limit - (p_progress).in_flight_sample;
  end if;

  return p_in_flight_limit - (
    select count(*)
    from (
      select
      from trunkline.messages as message
      where message.queue_id = p_queue_id
        and message.visible_at > '-infinity'
        and message.visible_at > p_now
        and message.receive_count > 0
      limit p_in_flight_limit
    ) as in_flight
  );
end
$$;
