-- How many more messages of the queue may be in flight, by counting those that are.
create or replace function trunkline._counted_room(p_queue_id bigint, p_in_flight_limit integer, p_now timestamptz)
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
