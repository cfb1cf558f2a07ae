-- How long a sample of a queue's messages in flight is kept before the next is due: a second, and another for
-- each hundred thousand hidden messages, which take about thirty milliseconds to count.
create or replace function trunkline._sample_lifetime(p_progress trunkline.queue_progress)
returns interval
language sql
immutable
parallel safe
begin atomic
  select make_interval(secs => 1 + coalesce((p_progress).hidden_sample, 0) / 100000.0);
end;
