-- Deletes messages of a standard queue by receipt handle. One outcome per handle, in the order given:
--
--   deleted   the message is gone because of this handle
--   missing   it was gone already, or a later receive has it now; AWS answers success and leaves it
--   invalid   not a receipt handle of this queue
--   busy      another transaction has the message; only with p_is_own_transaction, without it that is waited for
--
-- p_is_own_transaction says that the transaction ends right after.
create or replace function trunkline._delete_messages(
  p_queue trunkline.queues,
  p_receipt_handles text[],
  p_is_own_transaction boolean default false
)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  -- The transaction has its id before its delta has one: settlement rests on that order.
  v_transaction_id constant xid8 := pg_current_xact_id();
  v_outcomes text[];
  v_places tid[];
  v_removed bigint;
begin
  -- Locks in order of id, as every statement locks messages, so that two batches cannot deadlock.
  select
    array_agg(judged.outcome order by judged.entry),
    array_agg(judged.place) filter (where judged.place is not null)
  into v_outcomes, v_places
  from (
    select
      handle.entry,
      found.place,
      case
        when handle.id is null then 'invalid'
        when found.place is not null then 'deleted'
        when p_is_own_transaction and exists (
          select
          from trunkline.messages as message
          where message.queue_id = (p_queue).id
            and message.id = handle.id
            and message.receipt_nonce = handle.nonce
        ) then 'busy'
        else 'missing'
      end as outcome
    from (
      select *
      from trunkline._read_receipt_handles((p_queue).receipt_key, p_receipt_handles)
      order by id, entry
    ) as handle
    left join lateral (
      select free.place
      from (
        select message.ctid as place
        from trunkline.messages as message
        where p_is_own_transaction
          and message.queue_id = (p_queue).id
          and message.id = handle.id
          and message.receipt_nonce = handle.nonce
        limit 1
        for update skip locked
      ) as free
      union all
      select waited_for.place
      from (
        select message.ctid as place
        from trunkline.messages as message
        where not p_is_own_transaction
          and message.queue_id = (p_queue).id
          and message.id = handle.id
          and message.receipt_nonce = handle.nonce
        limit 1
        for update
      ) as waited_for
    ) as found on true
  ) as judged;

  if v_places is not null then
    delete from trunkline.messages as message where message.ctid = any (v_places);
    get diagnostics v_removed = row_count;
    insert into trunkline.count_deltas (queue_id, added, removed) values ((p_queue).id, 0, v_removed);
  end if;

  return coalesce(v_outcomes, '{}');
end
$$;
