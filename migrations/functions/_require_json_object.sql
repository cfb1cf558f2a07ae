-- A JSON object given by a caller, as it is. Null, also that of JSON, is none, which counts as an empty one.
-- Raises TQ012 for any other value.
create or replace function trunkline._require_json_object(p_value jsonb, p_parameter text)
returns jsonb
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(coalesce(p_value, 'null')) = 'null' then
    return '{}';
  elsif jsonb_typeof(p_value) <> 'object' then
    raise exception 'Value % for parameter % is invalid. Reason: Must be a JSON object.', p_value, p_parameter
      using errcode = 'TQ012';
  end if;
  return p_value;
end
$$;
