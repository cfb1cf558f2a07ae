-- Locks messages of a queue by id, in order of id, as every statement locks messages, so that two batches cannot
-- deadlock. Answers those that are there, were received and were sent after p_sent_after; the rest are not locked. Waits
-- for whoever has them; with p_may_wait false leaves out what others have locked. Who changes them by their place must do so
-- in a statement after this one.
create or replace function trunkline._lock_messages(
  p_queue_id bigint,
  p_ids bigint[],
  p_sent_after timestamptz,
  p_may_wait boolean
)
returns table (
  id bigint,
  place tid,
  received_at timestamptz
)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  return query
  select found.id, found.place, found.received_at
  from (
    select distinct given.id from unnest(p_ids) as given (id) where given.id is not null order by given.id
  ) as wanted
  cross join lateral (
    select free.*
    from (
      select message.id, message.ctid as place, message.received_at
      from trunkline.messages as message
      where not p_may_wait
        and message.queue_id = p_queue_id
        and message.id = wanted.id
        and message.receipt_nonce is not null
        and message.sent_at > p_sent_after
      limit 1
      for update skip locked
    ) as free
    union all
    select waited_for.*
    from (
      select message.id, message.ctid as place, message.received_at
      from trunkline.messages as message
      where p_may_wait
        and message.queue_id = p_queue_id
        and message.id = wanted.id
        and message.receipt_nonce is not null
        and message.sent_at > p_sent_after
      limit 1
      for update
    ) as waited_for
  ) as found;
end
$$;
