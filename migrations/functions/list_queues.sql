-- The names of queues that begin with a prefix, in order.
create or replace function trunkline.list_queues(queue_name_prefix text default '')
returns setof text
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select queue.name
  from trunkline.queues as queue
  where queue.account_id = trunkline._account_id() and starts_with(queue.name, queue_name_prefix)
  order by queue.name
$$;
