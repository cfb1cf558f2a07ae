-- Deletes messages of a standard queue by receipt handle. One outcome per handle, in the order given:
--
--   deleted   the message is gone because of this handle
--   missing   it was gone already, or a later receive has it now; AWS answers success and leaves it
--   invalid   not a receipt handle of this queue
--
-- Raises TQ001 when the queue is gone.
create or replace function trunkline._delete_messages(
  p_queue_id bigint,
  p_receipt_handles text[]
)
returns table (outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_queue trunkline.queues := trunkline._require_queue(p_queue_id);
begin
  perform pg_current_xact_id();

  return query
  with handle as materialized (
    select * from trunkline._read_receipt_handles(v_queue.receipt_key, p_receipt_handles)
  ),
  -- In id order, as every statement locks messages, so that two batches cannot deadlock.
  locked as materialized (
    select message.id
    from trunkline.messages as message
    where message.queue_id = p_queue_id
      and message.id = any (array(select handle.id from handle where handle.id is not null))
      and message.receipt_nonce in (select handle.nonce from handle where handle.id = message.id)
    order by message.id
    for update
  ),
  deleted as (
    delete from trunkline.messages as message
    where message.queue_id = p_queue_id
      and message.id = any (array(select locked.id from locked))
    returning message.id, message.receipt_nonce
  ),
  counted as (
    insert into trunkline.count_deltas (queue_id, added, removed)
    select p_queue_id, 0, count(*)
    from deleted
    having count(*) > 0
  )
  select
    case
      when handle.id is null then 'invalid'
      when deleted.id is null then 'missing'
      else 'deleted'
    end
  from handle
  left join deleted on deleted.id = handle.id and deleted.receipt_nonce = handle.nonce
  order by handle.entry;
end
$$;
