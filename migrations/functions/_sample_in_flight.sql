-- Counts what is in flight in queues with traffic, so that receives need not: at most once a second each, and
-- less often where much is hidden, since counting walks all of it.
-- Apart from settling, because a transaction that stays open holds that up for as long.
create or replace function trunkline._sample_in_flight(p_now timestamptz)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
begin
  update trunkline.queue_progress as progress
  set (in_flight_sample, hidden_sample) = (
        select count(*) filter (where message.receive_count > 0), count(*)
        from trunkline.messages as message
        where message.queue_id = progress.queue_id
          and message.visible_at > '-infinity'
          and message.visible_at > p_now
      ),
      sampled_at = p_now
  where progress.sampled_at is null
    or progress.sampled_at between p_now - interval '5 minutes' and p_now - trunkline._sample_lifetime(progress);
end
$$;
