-- Sets attributes of a queue, at once and for its stored messages too; others keep their values.
create or replace function trunkline.set_queue_attributes(queue_name text, attributes jsonb)
returns void
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select trunkline._set_queue_attributes(
    (trunkline._lock_queue(queue_name)).id,
    trunkline._require_json_object(attributes, 'Attributes')::json
  )
$$;
