-- The column of a Policy attribute. Raises TQ011 when it is no policy document; an empty text removes it.
create or replace function trunkline._parse_policy(p_value text)
returns jsonb
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_statements jsonb := trunkline._json_object_or_null(p_value) -> 'Statement';
begin
  if p_value = '' then
    return '{"policy": null}';
  end if;
  if jsonb_typeof(v_statements) = 'object' then
    v_statements := jsonb_build_array(v_statements);
  end if;
  if coalesce(jsonb_typeof(v_statements), '') <> 'array'
    or jsonb_array_length(v_statements) = 0
    or exists (select from jsonb_array_elements(v_statements) as one (statement) where jsonb_typeof(one.statement) <> 'object')
  then
    raise exception 'Invalid value for the parameter Policy.' using errcode = 'TQ011';
  end if;
  return jsonb_build_object('policy', p_value);
end
$$;
