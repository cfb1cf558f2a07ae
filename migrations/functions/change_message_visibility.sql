-- Changes how long a message stays hidden. As change_message_visibility_batch, for one.
create or replace function trunkline.change_message_visibility(
  queue_name text,
  receipt_handle text,
  visibility_timeout interval
)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform trunkline.change_message_visibility_batch(queue_name, array[receipt_handle], array[visibility_timeout]);
end
$$;
