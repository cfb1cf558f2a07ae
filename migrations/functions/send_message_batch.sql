-- Sends any number of messages in the caller's transaction, which makes them visible by its commit. All or
-- none: raises the error of the first that SQS would not take. One row per message, in the order given; none
-- for no messages, which is what array_agg makes of no rows.
create or replace function trunkline.send_message_batch(
  queue_name text,
  message_bodies text[],
  delays interval[] default null,
  message_attributes jsonb[] default null,
  message_group_ids text[] default null,
  message_deduplication_ids text[] default null,
  trace_headers text[] default null
)
returns table (
  entry bigint,
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
declare
  v_queue trunkline.queues := trunkline._find_queue(queue_name);
  v_delays integer[];
  v_attributes jsonb[];
  v_sizes integer[];
  v_count constant integer := coalesce(cardinality(message_bodies), 0);
  v_senders text[] := array_fill(v_queue.account_id, array[v_count]);
  v_message_ids uuid[] := array(select gen_random_uuid() from generate_series(1, v_count));
  v_sequence_numbers bigint[];
begin
  if not v_count = all (array[
    coalesce(cardinality(delays), v_count), coalesce(cardinality(message_attributes), v_count),
    coalesce(cardinality(message_group_ids), v_count), coalesce(cardinality(message_deduplication_ids), v_count),
    coalesce(cardinality(trace_headers), v_count)
  ]) then
    raise exception 'Each array must be null or have one element for each message body.' using errcode = 'TQ012';
  end if;
  if delays is not null then
    v_delays := array(
      select trunkline._seconds(given.delay, 'DelaySeconds', 900)
      from unnest(delays) with ordinality as given (delay, position)
      order by given.position
    );
  end if;
  if message_attributes is not null then
    v_attributes := array(
      -- A null counts as not given, as over HTTP.
      select nullif(nullif(jsonb_strip_nulls(given.attributes), '{}'), 'null')
      from unnest(message_attributes) with ordinality as given (attributes, position)
      order by given.position
    );
  end if;
  perform trunkline._check_messages(
    v_queue.is_fifo, message_bodies, v_delays, v_attributes, message_group_ids, message_deduplication_ids
  );
  if trace_headers is not null then
    perform trunkline._check_trace_headers(trace_headers);
  end if;
  v_sizes := array(
    -- Calling a function for nothing would take a quarter of the time of 100 000 messages.
    select octet_length(given.body)
      + case when given.attributes is null then 0 else trunkline._message_attributes_size(given.attributes) end
    from unnest(message_bodies, v_attributes) with ordinality as given (body, attributes, position)
    order by given.position
  );

  if v_queue.maximum_message_size_bytes < any (v_sizes) then
    raise exception 'One or more parameters are invalid. Reason: Message must be shorter than % bytes.', v_queue.maximum_message_size_bytes
      using errcode = 'TQ012';
  elsif not v_queue.is_fifo then
    perform trunkline._send_messages(
      v_queue, v_message_ids, message_bodies, v_sizes, v_delays, v_attributes::text[], trace_headers, message_group_ids,
      v_senders
    );
  else
    select
      array_agg(sent.message_id order by sent.position),
      array_agg(sent.sequence_number order by sent.position)
    into v_message_ids, v_sequence_numbers
    from trunkline._send_fifo_messages(
      v_queue, v_message_ids, message_bodies, v_sizes, v_attributes::text[], trace_headers, message_group_ids,
      message_deduplication_ids, v_senders
    ) with ordinality as sent (message_id, sequence_number, refusal, position);
    if array_position(v_message_ids, null) is not null then
      raise exception 'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly'
        using errcode = 'TQ012';
    end if;
  end if;

  return query
  select
    given.position,
    given.message_id,
    trunkline._sequence_number(given.sequence_number),
    md5(given.body),
    case when given.attributes is not null then trunkline._message_attributes_md5(given.attributes) end
  from unnest(v_message_ids, v_sequence_numbers, message_bodies, v_attributes) with ordinality
    as given (message_id, sequence_number, body, attributes, position)
  order by given.position;
end
$$;
