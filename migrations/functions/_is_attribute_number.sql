-- Whether a text is a number as attributes of type Number hold them: up to 38 digits, magnitude below 10^128.
create or replace function trunkline._is_attribute_number(p_text text)
returns boolean
language plpgsql
immutable
strict
set search_path = pg_catalog, pg_temp
as $$
begin
  return p_text ~* '^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,4})?$'
    and length(ltrim(regexp_replace(regexp_replace(p_text, 'e.*$', '', 'i'), '\D', '', 'g'), '0')) <= 38
    and abs(p_text::numeric) < 1e128;
end
$$;
