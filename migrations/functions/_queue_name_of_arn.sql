-- The queue name in the ARN of a queue, or null when the text is no such ARN.
create or replace function trunkline._queue_name_of_arn(p_arn text)
returns text
language sql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select substring(p_arn from '^arn:[a-z-]+:sqs:[a-z0-9-]+:[0-9]{12}:([A-Za-z0-9_-]+(?:[.]fifo)?)$')
$$;
