-- How many more messages of the queue may be in flight, by the latest sample; null where that is not good enough and
-- _counted_room has to count.
--
-- Counting what is in flight costs time in proportion, so a sample of the last seconds is enough: one that is below
-- nine tenths of the limit, and an older one below half of it. A limit of some thousands can be passed between two
-- samples, so there it has to be below a tenth. Near the limit, or without a sample, the count is exact.
--
-- Becomes part of the statement that calls it, so it has no settings of its own.
create or replace function trunkline._sampled_room(
  p_in_flight_limit integer,
  p_progress trunkline.queue_progress,
  p_now timestamptz
)
returns integer
language sql
immutable
parallel safe
begin atomic
  select case
    when p_in_flight_limit >= 10000
      and (p_progress).in_flight_sample < p_in_flight_limit * (case when p_in_flight_limit < 50000 then 0.1 else 0.9 end)
      and p_now - (p_progress).sampled_at between interval '0' and trunkline._sample_lifetime(p_progress)
        * (case when p_in_flight_limit >= 50000 and (p_progress).in_flight_sample < 0.5 * p_in_flight_limit then 4 else 2 end)
    then p_in_flight_limit - (p_progress).in_flight_sample
  end;
end;
