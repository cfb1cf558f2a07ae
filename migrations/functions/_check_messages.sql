-- Raises the error of the first message that SQS would not take. Sizes are checked where messages are
-- stored.
create or replace function trunkline._check_messages(
  p_is_fifo boolean,
  p_bodies text[],
  p_delays_seconds integer[],
  p_attributes jsonb[],
  p_group_ids text[],
  p_deduplication_ids text[]
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_message record;
begin
  for v_message in
    select *
    from unnest(p_bodies, p_delays_seconds, p_attributes, p_group_ids, p_deduplication_ids)
      as given (body, delay_seconds, attributes, group_id, deduplication_id)
  loop
    if coalesce(v_message.body, '') = '' then
      raise exception 'The request must contain the parameter MessageBody.' using errcode = 'TQ013';
    elsif trunkline._has_forbidden_characters(v_message.body) then
      raise exception 'Invalid binary character was found in the message body, the set of allowed characters is #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.'
        using errcode = 'TQ014';
    elsif p_is_fifo and v_message.group_id is null then
      raise exception 'The request must contain the parameter MessageGroupId.' using errcode = 'TQ013';
    elsif v_message.group_id !~ '^[!-~]{1,128}$' then
      raise exception 'Value % for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.', v_message.group_id
        using errcode = 'TQ012';
    elsif not p_is_fifo and v_message.deduplication_id is not null then
      raise exception 'Value % for parameter MessageDeduplicationId is invalid. Reason: The request include parameter that is not valid for this queue type.', v_message.deduplication_id
        using errcode = 'TQ012';
    elsif v_message.deduplication_id !~ '^[!-~]{1,128}$' then
      raise exception 'Value % for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to 128 in length.', v_message.deduplication_id
        using errcode = 'TQ012';
    elsif p_is_fifo and v_message.delay_seconds > 0 then
      raise exception 'Value % for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.', v_message.delay_seconds
        using errcode = 'TQ012';
    elsif v_message.attributes is not null then
      perform trunkline._check_message_attributes(v_message.attributes);
    end if;
  end loop;
end
$$;
