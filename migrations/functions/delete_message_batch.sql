-- Acknowledges messages in the caller's transaction: they are gone if it commits, and back if it rolls back.
--
-- All or none. Raises TQ008 when a message is no longer the caller's, because it was deleted, or its
-- visibility timeout passed and another receive has it: then work done for it in this transaction must not
-- commit. Raises TQ007 for what is no receipt handle of this queue, TQ013 for null.
create or replace function trunkline.delete_message_batch(queue_name text, receipt_handles text[])
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue constant trunkline.queues := trunkline._find_queue(queue_name);
  v_outcomes constant text[] := case
    when v_queue.is_fifo then trunkline._delete_fifo_messages(v_queue, receipt_handles)
    else trunkline._delete_messages(v_queue, receipt_handles)
  end;
  v_failed record;
begin
  if 'deleted' = all (v_outcomes) then
    return;
  end if;
  select handle.text as receipt_handle, handle.outcome
  into v_failed
  from unnest(receipt_handles, v_outcomes) with ordinality as handle (text, outcome, entry)
  where handle.outcome <> 'deleted'
  order by handle.entry
  limit 1;
  if v_failed.outcome = 'invalid' then
    perform trunkline._refuse_receipt_handle(v_failed.receipt_handle);
  else
    raise exception 'Value % for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.', v_failed.receipt_handle
      using errcode = 'TQ008',
        hint = 'The message was deleted already or another receive has it now. Roll back the work done for it.';
  end if;
end
$$;
