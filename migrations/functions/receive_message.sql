-- Receives messages in the caller's transaction: others cannot receive them meanwhile, and should it roll
-- back they are as they were. Never waits; for that, poll or use the server's long polls.
--
-- Takes up to 1000 at once, where AWS takes ten. Raises TQ002 (OverLimit) when too many messages of a
-- standard queue are in flight; a FIFO queue then returns none.
create or replace function trunkline.receive_message(
  queue_name text,
  max_number_of_messages integer default 1,
  visibility_timeout interval default null,
  receive_request_attempt_id text default null
)
returns table (
  message_id uuid,
  receipt_handle text,
  body text,
  md5_of_body text,
  message_attributes jsonb,
  md5_of_message_attributes text,
  sender_id text,
  sent_at timestamptz,
  first_received_at timestamptz,
  receive_count integer,
  message_group_id text,
  message_deduplication_id text,
  sequence_number text,
  trace_header text,
  dead_letter_queue_source_arn text
)
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue trunkline.queues := trunkline._find_queue(queue_name);
  v_timeout_seconds integer;
begin
  if visibility_timeout is not null then
    v_timeout_seconds := trunkline._seconds(visibility_timeout, 'VisibilityTimeout', 43200);
  end if;
  if max_number_of_messages is null or max_number_of_messages not between 1 and 1000 then
    raise exception 'Value % for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 1000, if provided.', max_number_of_messages
      using errcode = 'TQ012';
  elsif not trunkline._is_message_identifier(receive_request_attempt_id) then
    raise exception 'Value % for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length.', receive_request_attempt_id
      using errcode = 'TQ012';
  end if;

  if v_queue.is_fifo then
    return query
    select
      received.message_id, received.receipt_handle, received.body, md5(received.body), received.attributes,
      case when received.attributes is not null then trunkline._message_attributes_md5(received.attributes) end, received.sender_id, received.sent_at,
      received.first_received_at, received.receive_count, received.group_id, received.deduplication_id,
      trunkline._sequence_number(received.sequence_number), received.trace_header, received.dead_letter_source_arn
    from trunkline._receive_fifo_messages(
      v_queue,
      array[max_number_of_messages],
      v_timeout_seconds,
      (select settings.in_flight_limit_fifo from trunkline.settings),
      receive_request_attempt_id
    ) as received;
  else
    return query
    select
      received.message_id, received.receipt_handle, received.body, md5(received.body), received.attributes,
      case when received.attributes is not null then trunkline._message_attributes_md5(received.attributes) end, received.sender_id, received.sent_at,
      received.first_received_at, received.receive_count, received.group_id, received.deduplication_id,
      null::text, received.trace_header, received.dead_letter_source_arn
    from trunkline._receive_messages(
      v_queue, max_number_of_messages, v_timeout_seconds, (select settings.in_flight_limit_standard from trunkline.settings)
    ) as received
    order by received.sequence_number;
  end if;
end
$$;
