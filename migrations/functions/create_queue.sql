-- Creates a queue, or finds it; answers whether it created it. Attributes are those of SQS, such as
-- {"VisibilityTimeout": 60} or {"FifoQueue": true}. Raises TQ009 when the queue exists with another value of
-- a given attribute.
create or replace function trunkline.create_queue(
  queue_name text,
  attributes jsonb default '{}',
  tags jsonb default '{}'
)
returns boolean
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select trunkline._create_queue(
    trunkline._account_id(),
    queue_name,
    trunkline._require_json_object(attributes, 'Attributes')::json,
    trunkline._require_tags(tags)
  )
$$;
