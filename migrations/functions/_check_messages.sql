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
  select given.*, fault.kind as fault
  into v_message
  from unnest(p_bodies, p_delays_seconds, p_group_ids, p_deduplication_ids) with ordinality
    as given (body, delay_seconds, group_id, deduplication_id, position)
  cross join lateral (
    select case
      when coalesce(given.body, '') = '' then 'no body'
      when trunkline._has_forbidden_characters(given.body) then 'characters'
      when p_is_fifo and given.group_id is null then 'no group'
      when not trunkline._is_message_identifier(given.group_id) then 'group'
      when given.deduplication_id is not null and not p_is_fifo then 'not for standard queues'
      when not trunkline._is_message_identifier(given.deduplication_id) then 'deduplication'
      when p_is_fifo and given.delay_seconds > 0 then 'not for FIFO queues'
    end as kind
  ) as fault
  where fault.kind is not null
  order by given.position
  limit 1;

  case v_message.fault
    when 'no body' then
      raise exception 'The request must contain the parameter MessageBody.' using errcode = 'TQ013';
    when 'characters' then
      raise exception 'Invalid binary character was found in the message body, the set of allowed characters is #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.'
        using errcode = 'TQ014';
    when 'no group' then
      raise exception 'The request must contain the parameter MessageGroupId.' using errcode = 'TQ013';
    when 'group' then
      raise exception 'Value % for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.', v_message.group_id
        using errcode = 'TQ012';
    when 'not for standard queues' then
      raise exception 'Value % for parameter MessageDeduplicationId is invalid. Reason: The request include parameter that is not valid for this queue type.', v_message.deduplication_id
        using errcode = 'TQ012';
    when 'deduplication' then
      raise exception 'Value % for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to 128 in length.', v_message.deduplication_id
        using errcode = 'TQ012';
    when 'not for FIFO queues' then
      raise exception 'Value % for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.', v_message.delay_seconds
        using errcode = 'TQ012';
    else
      perform trunkline._check_message_attributes(given.attributes)
      from unnest(p_attributes) as given (attributes)
      where given.attributes is not null;
  end case;
end
$$;
