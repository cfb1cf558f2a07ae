-- For each id, in the order given, whether somebody else has this message of a standard queue locked, so that a
-- change would have to wait. Those that are free are locked for the caller.
create or replace function trunkline._busy_messages(p_queue_id bigint, p_ids bigint[])
returns boolean[]
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
begin
  return array(
    select present.id is not null
    from unnest(p_ids) with ordinality as wanted (id, entry)
    left join lateral (
      select message.id
      from trunkline.messages as message
      where message.queue_id = p_queue_id
        and message.id = wanted.id
      limit 1
      for update skip locked
    ) as free on true
    left join lateral (
      select message.id
      from trunkline.messages as message
      where free.id is null
        and message.queue_id = p_queue_id
        and message.id = wanted.id
      limit 1
    ) as present on true
    order by wanted.entry
  );
end
$$;
