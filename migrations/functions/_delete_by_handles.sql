-- Deletes messages by receipt handle, whatever the type of the queue. One outcome per handle, in the order given,
-- out of those of _delete_messages and _delete_fifo_messages.
create or replace function trunkline._delete_by_handles(p_queue trunkline.queues, p_receipt_handles text[])
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform trunkline._require_receipt_handles(p_receipt_handles);
  if (p_queue).is_fifo then
    return trunkline._delete_fifo_messages((p_queue).id, p_receipt_handles);
  else
    return trunkline._delete_messages((p_queue).id, p_receipt_handles);
  end if;
end
$$;
