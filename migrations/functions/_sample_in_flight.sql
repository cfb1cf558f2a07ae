-- Counts what is in flight in queues with traffic, at most once a second each, so that receives need not.
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
    set in_flight_sample = (
          select count(*)
          from trunkline.messages as message
          where message.queue_id = progress.queue_id
            and message.visible_at > '-infinity'
          and message.visible_at > p_now
            and message.receive_count > 0
        ),
        sampled_at = p_now
    where progress.sampled_at is null
      or progress.sampled_at between p_now - interval '5 minutes' and p_now - interval '1 second';
end
$$;
