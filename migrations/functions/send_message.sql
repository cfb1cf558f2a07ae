-- Sends one message in the caller's transaction, which makes it visible by its commit.
create or replace function trunkline.send_message(
  queue_name text,
  message_body text,
  delay interval default null,
  message_attributes jsonb default null,
  message_group_id text default null,
  message_deduplication_id text default null,
  trace_header text default null
)
returns table (
  message_id uuid,
  sequence_number text,
  md5_of_message_body text,
  md5_of_message_attributes text
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select sent.message_id, sent.sequence_number, sent.md5_of_message_body, sent.md5_of_message_attributes
  from trunkline.send_message_batch(
    queue_name,
    array[message_body],
    array[delay],
    array[message_attributes],
    array[message_group_id],
    array[message_deduplication_id],
    array[trace_header]
  ) as sent;
end
$$;
