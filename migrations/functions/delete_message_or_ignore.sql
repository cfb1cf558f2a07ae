-- Deletes a message if it is still the caller's; answers whether it did. As delete_message_batch_or_ignore, for
-- one.
create or replace function trunkline.delete_message_or_ignore(queue_name text, receipt_handle text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (trunkline.delete_message_batch_or_ignore(queue_name, array[receipt_handle]))[1];
end
$$;
