-- Deletes messages of a standard queue by receipt handle. One outcome per handle, in the order given:
--
--   deleted   the message is gone because of this handle
--   missing   it was gone already, or a later receive has it now; AWS answers success and leaves it
--   invalid   not a receipt handle of this queue
--
-- Raises TQ001 when the queue is gone; with p_is_own_transaction 55P03 after waiting a quarter of a second for a transaction
-- that has one of the messages.
create or replace function trunkline._delete_messages(
  p_queue_id bigint,
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
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_queue trunkline.queues := trunkline._require_queue(p_queue_id);
  -- The transaction has its id before its delta has one: settlement rests on that order.
  v_transaction_id constant xid8 := pg_current_xact_id();
  v_removed bigint[];
  v_nonces uuid[];
begin
  if p_is_own_transaction then
    perform set_config('lock_timeout', '250ms', true);
  end if;
  -- In order of id, as every statement locks messages, so that two batches cannot deadlock; joined by a loop, which
  -- keeps to that order.
  with removed as (
    delete from trunkline.messages as message
    using (
      select handle.id, handle.nonce
      from trunkline._read_receipt_handles(v_queue.receipt_key, p_receipt_handles) as handle
      where handle.id is not null
      order by handle.id
    ) as handle
    where message.queue_id = p_queue_id
      and message.id = handle.id
      and message.receipt_nonce = handle.nonce
    returning message.id, handle.nonce
  )
  select coalesce(array_agg(removed.id), '{}'), array_agg(removed.nonce)
  into v_removed, v_nonces
  from removed;

  if v_removed <> '{}' then
    insert into trunkline.count_deltas (queue_id, added, removed) values (p_queue_id, 0, cardinality(v_removed));
  end if;
  if cardinality(v_removed) = cardinality(p_receipt_handles) then
    return array_fill('deleted'::text, array[cardinality(v_removed)]);
  end if;
  return array(
    select
      case
        when handle.id is null then 'invalid'
        when handle.nonce = v_nonces[array_position(v_removed, handle.id)] then 'deleted'
        else 'missing'
      end
    from trunkline._read_receipt_handles(v_queue.receipt_key, p_receipt_handles) as handle
    order by handle.entry
  );
end
$$;
