-- Deletes a message if it is still the caller's; answers whether it did. Raises TQ007 for what is no receipt
-- handle of this queue.
create or replace function trunkline.delete_message_or_ignore(queue_name text, receipt_handle text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_outcome text;
begin
  select deleted.outcome into v_outcome
  from trunkline._delete_by_handles(trunkline._find_queue(queue_name), array[receipt_handle]) as deleted;
  if v_outcome = 'invalid' then
    raise exception 'The input receipt handle "%" is not a valid receipt handle.', receipt_handle using errcode = 'TQ007';
  end if;
  return v_outcome = 'deleted';
end
$$;
