-- Deletes a queue with all its messages.
create or replace function trunkline.delete_queue(queue_name text)
returns void
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select trunkline._delete_queue((trunkline._lock_queue(queue_name)).id)
$$;
