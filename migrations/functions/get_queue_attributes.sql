-- All attributes of a queue by their names in SQS, message counts included.
create or replace function trunkline.get_queue_attributes(queue_name text)
returns jsonb
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select trunkline._describe_queue(
    (trunkline._find_queue(queue_name)).id,
    (select settings.region from trunkline.settings),
    true
  )
$$;
