-- Messages of a queue by id, one row per id, nulls where there is none; in the order given. Looks each up by
-- the primary key, whatever the planner believes of the size of the table.
create or replace function trunkline._find_messages(p_queue_id bigint, p_ids bigint[])
returns table (
  entry bigint,
  id bigint,
  place tid,
  group_id text,
  receipt_nonce uuid,
  visible_at timestamptz,
  received_at timestamptz,
  sent_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  return query
  select
    wanted.entry, found.id, found.place, found.group_id, found.receipt_nonce, found.visible_at,
    found.received_at, found.sent_at
  from unnest(p_ids) with ordinality as wanted (id, entry)
  left join lateral (
    select
      message.id, message.ctid as place, message.group_id, message.receipt_nonce, message.visible_at,
      message.received_at, message.sent_at
    from trunkline.messages as message
    where message.queue_id = p_queue_id and message.id = wanted.id
    limit 1
  ) as found on true
  order by wanted.entry;
end
$$;
