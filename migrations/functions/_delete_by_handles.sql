-- Deletes messages by receipt handle, whatever the type of the queue. One row per handle, in the order given,
-- with the outcomes of _delete_messages and _delete_fifo_messages.
create or replace function trunkline._delete_by_handles(p_queue trunkline.queues, p_receipt_handles text[])
returns table (entry bigint, outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform trunkline._require_receipt_handles(p_receipt_handles);
  if (p_queue).is_fifo then
    return query
    select deleted.entry, deleted.outcome
    from trunkline._delete_fifo_messages((p_queue).id, p_receipt_handles)
      with ordinality as deleted (outcome, entry);
  else
    return query
    select deleted.entry, deleted.outcome
    from trunkline._delete_messages((p_queue).id, p_receipt_handles)
      with ordinality as deleted (outcome, entry);
  end if;
end
$$;
