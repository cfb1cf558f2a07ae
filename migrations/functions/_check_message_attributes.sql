-- Raises TQ012 (InvalidParameterValue) or TQ015 (UnsupportedOperation) unless message attributes are as SQS
-- takes them: {"name": {"DataType": "String", "StringValue": "value"}}, with "BinaryValue" in base64.
create or replace function trunkline._check_message_attributes(p_attributes jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
  v_attribute jsonb;
  v_count integer;
  v_type text;
  v_prefix text;
  v_field text;
  v_value text;
  v_reason text;
begin
  if jsonb_typeof(p_attributes) <> 'object' then
    raise exception 'Message attributes must be a JSON object.' using errcode = 'TQ012';
  end if;
  select count(*) into v_count from jsonb_object_keys(p_attributes);
  if v_count > 10 then
    raise exception 'Number of message attributes [%] exceeds the allowed maximum [10].', v_count using errcode = 'TQ012';
  end if;

  for v_name, v_attribute in select * from jsonb_each(p_attributes) loop
    if v_attribute ? 'StringListValues' or v_attribute ? 'BinaryListValues' then
      raise exception 'Message attribute list values in SendMessage operation are not supported.' using errcode = 'TQ015';
    end if;
    if jsonb_typeof(v_attribute) <> 'object' then
      raise exception 'Message (user) attribute ''%'' must be a JSON object.', v_name using errcode = 'TQ012';
    end if;
    v_type := v_attribute ->> 'DataType';
    v_prefix := substring(v_type from '^(String|Number|Binary)(?:[.]|$)');
    v_field := case when v_prefix = 'Binary' then 'Binary' else 'String' end;
    v_value := v_attribute ->> (v_field || 'Value');
    v_reason := case
      when v_name = '' then 'The request must contain non-empty message (user) attribute names.'
      when octet_length(v_name) > 256 then 'Message (user) attribute name must be shorter than 256 bytes.'
      when v_name ~* '^(aws|amazon)[.]'
        then 'You can''t use message attribute names beginning with ''AWS.'' or ''Amazon''. These strings are reserved for internal use.'
      when v_name like '.%' then 'Message (user) attribute name must not begin with character ''.''.'
      when v_name like '%.' then 'Message (user) attribute name must not end with character ''.''.'
      when v_name like '%..%' then 'Message (user) attribute name must not have successive ''.'' characters.'
      when v_name !~ E'^[A-Za-z0-9_.\\u00c0-\\u017f-]+$' then format(
        'Invalid character in message (user) attribute name ''%s''. It can include alphanumeric characters, hyphens, underscores and periods.',
        v_name
      )
      when v_attribute - 'DataType' - 'StringValue' - 'BinaryValue' <> '{}' then format(
        'Message (user) attribute ''%s'' can only have the fields DataType, StringValue and BinaryValue.', v_name
      )
      -- What is no text would be taken here and could not be read over HTTP.
      when exists (select from jsonb_each(v_attribute) as field (name, value) where jsonb_typeof(field.value) <> 'string')
        then format('The fields of message (user) attribute ''%s'' must be strings.', v_name)
      when v_attribute = '{}'
        then format('The message (user) attribute ''%s'' must contain a non-empty message attribute value.', v_name)
      when coalesce(v_type, '') = ''
        then format('The message (user) attribute ''%s'' must contain a non-empty message attribute type.', v_name)
      when v_prefix is null then format(
        'The type of message (user) attribute ''%s'' is invalid. You must use only the following supported type prefixes: Binary, Number, String.',
        v_name
      )
      when length(v_type) > 256 then 'Message (user) attribute type must be shorter than 256 bytes.'
      when trunkline._has_forbidden_characters(v_type)
        then format('Invalid characters found in the type of message (user) attribute ''%s''.', v_name)
      when v_attribute ? 'StringValue' and v_attribute ? 'BinaryValue'
        then format('Message (user) attribute ''%s'' must have a single value.', v_name)
      when v_value is null and (v_attribute ? 'StringValue' or v_attribute ? 'BinaryValue')
        then format('Message (user) attribute ''%s'' with type ''%s'' must use field ''%s''.', v_name, v_prefix, v_field)
      when coalesce(v_value, '') = ''
        then format('Message (user) attribute ''%s'' must contain a non-empty value of type ''%s''.', v_name, v_prefix)
      when v_prefix = 'Binary' and v_value !~ '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
        then format('The value of message (user) attribute ''%s'' is not valid base64.', v_name)
      when v_field = 'String' and trunkline._has_forbidden_characters(v_value)
        then format('Value %s for parameter MessageAttribute ''%s'' is invalid. Reason: Invalid characters found.', v_value, v_name)
      when v_prefix = 'Number' and not trunkline._is_attribute_number(v_value)
        then format('Can''t cast the value of message (user) attribute ''%s'' to a number.', v_name)
    end;
    if v_reason is not null then
      raise exception using errcode = 'TQ012', message = v_reason;
    end if;
  end loop;
end
$$;
