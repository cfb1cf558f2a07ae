-- The JSON object that a text is, or null when it is none.
create or replace function trunkline._json_object_or_null(p_text text)
returns jsonb
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_value jsonb;
begin
  v_value := p_text::jsonb;
  return case when jsonb_typeof(v_value) = 'object' then v_value end;
exception when invalid_text_representation
  or untranslatable_character
  or numeric_value_out_of_range
  or program_limit_exceeded
  or statement_too_complex
then
  return null;
end
$$;
