-- Removes all messages of a queue. Raises TQ003 when that was done less than 60 seconds ago.
create or replace function trunkline.purge_queue(queue_name text)
returns void
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select trunkline._purge_queue((trunkline._lock_queue(queue_name)).id)
$$;
