-- Acknowledges a message in the caller's transaction. As delete_message_batch, for one.
create or replace function trunkline.delete_message(queue_name text, receipt_handle text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform trunkline.delete_message_batch(queue_name, array[receipt_handle]);
end
$$;
