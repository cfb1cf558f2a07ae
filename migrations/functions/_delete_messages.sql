-- Deletes messages of a standard queue by receipt handle. One outcome per handle, in the order given:
--
--   deleted   the message is gone because of this handle
--   missing   it was gone already, or a later receive has it now; AWS answers success and leaves it
--   invalid   not a receipt handle of this queue
--
-- Raises TQ001 when the queue is gone; with p_is_own_transaction 55P03 after waiting a second for a transaction
-- that has one of the messages.
create or replace function trunkline._delete_messages(
  p_queue_id bigint,
  p_receipt_handles text[],
  p_is_own_transaction boolean default false
)
returns table (outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_queue trunkline.queues := trunkline._require_queue(p_queue_id);
  v_ids bigint[];
  v_nonces uuid[];
  v_places tid[];
  v_owned bigint[];
  v_owned_nonces uuid[];
begin
  perform pg_current_xact_id();
  if p_is_own_transaction then
    perform set_config('lock_timeout', '1s', true);
  end if;
  select array_agg(handle.id order by handle.entry), array_agg(handle.nonce order by handle.entry)
  into v_ids, v_nonces
  from trunkline._read_receipt_handles(v_queue.receipt_key, p_receipt_handles) as handle;

  select
    coalesce(array_agg(message.place), '{}'),
    coalesce(array_agg(message.id), '{}'),
    coalesce(array_agg(message.nonce), '{}')
  into v_places, v_owned, v_owned_nonces
  from trunkline._lock_messages(p_queue_id, v_ids, v_nonces) as message;
  if v_owned <> '{}' then
    delete from trunkline.messages as message where message.ctid = any (v_places);
    insert into trunkline.count_deltas (queue_id, added, removed)
    values (p_queue_id, 0, cardinality(v_owned));
  end if;

  return query
  select
    case
      when handle.id is null then 'invalid'
      when message.id is null then 'missing'
      else 'deleted'
    end
  from unnest(v_ids, v_nonces) with ordinality as handle (id, nonce, entry)
  left join unnest(v_owned, v_owned_nonces) as message (id, nonce) using (id, nonce)
  order by handle.entry;
end
$$;
