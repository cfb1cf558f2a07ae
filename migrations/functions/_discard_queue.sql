-- Hands the contents under a queue's present id over to the janitor.
create or replace function trunkline._discard_queue(
  p_queue trunkline.queues,
  p_is_deleted boolean,
  p_now timestamptz
)
returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into trunkline.discarded_queues
    (queue_id, account_id, name, is_deleted, discarded_at)
  values ((p_queue).id, (p_queue).account_id, (p_queue).name, p_is_deleted, p_now)
$$;
