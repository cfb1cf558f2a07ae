-- The column of a RedriveAllowPolicy attribute. Raises TQ012 when it is malformed; an empty text removes it.
create or replace function trunkline._parse_redrive_allow_policy(p_value text)
returns jsonb
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy jsonb := trunkline._json_object_or_null(p_value);
  v_permission text := v_policy ->> 'redrivePermission';
  v_sources jsonb := v_policy -> 'sourceQueueArns';
  v_reason text;
begin
  if p_value = '' then
    return '{"redrive_allow_policy": null}';
  end if;
  if coalesce(v_permission, '') not in ('allowAll', 'denyAll', 'byQueue')
    or v_policy - 'redrivePermission' - 'sourceQueueArns' <> '{}'
    or jsonb_typeof(v_sources) <> 'array'
    or jsonb_path_exists(v_sources, '$[*] ? (@.type() != "string")')
  then
    raise exception 'Invalid value for the parameter RedriveAllowPolicy. Reason: Amazon SQS can''t create the redrive allow policy, as it’s in an unsupported format.'
      using errcode = 'TQ012';
  end if;
  v_reason := case
    when v_permission <> 'byQueue' and v_sources is not null
      then 'To specify one or more source queue ARNs, you must set redrivePermission to byQueue.'
    when v_permission = 'byQueue' and coalesce(jsonb_array_length(v_sources), 0) = 0
      then 'When you specify the byQueue permission type, you must also specify one or more sourceQueueArns values.'
    when jsonb_array_length(v_sources) > 10
      then 'The maximum number of source queue ARNs you can specify is 10.'
  end;
  if v_reason is not null then
    raise exception 'Value % for parameter RedriveAllowPolicy is invalid. Reason: Amazon SQS can''t create the redrive allow policy. %', p_value, v_reason
      using errcode = 'TQ012';
  end if;
  return jsonb_build_object('redrive_allow_policy', p_value);
end
$$;
