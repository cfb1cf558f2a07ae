-- Deletes those messages that are still the caller's; answers for each handle, in the order given, whether its
-- message was deleted. Raises TQ007 for what is no receipt handle of this queue, TQ013 for null.
create or replace function trunkline.delete_message_batch_or_ignore(queue_name text, receipt_handles text[])
returns boolean[]
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
begin
  if 'invalid' = any (v_outcomes) then
    perform trunkline._refuse_receipt_handle((
      select handle.text
      from unnest(receipt_handles, v_outcomes) with ordinality as handle (text, outcome, entry)
      where handle.outcome = 'invalid'
      order by handle.entry
      limit 1
    ));
  end if;
  return array(
    select handle.outcome = 'deleted'
    from unnest(v_outcomes) with ordinality as handle (outcome, entry)
    order by handle.entry
  );
end
$$;
