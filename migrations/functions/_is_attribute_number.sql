-- Whether a text is a number as attributes of type Number hold them: up to 38 digits, magnitude below 10^128. Told by the
-- text alone, because numeric holds no more than 16 383 decimals.
create or replace function trunkline._is_attribute_number(p_text text)
returns boolean
language plpgsql
immutable
strict
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mantissa constant text := ltrim(split_part(lower(p_text), 'e', 1), '+-');
  v_exponent constant text := ltrim(split_part(lower(p_text), 'e', 2), '+0');
  v_digits constant text := ltrim(replace(v_mantissa, '.', ''), '0');
begin
  if p_text !~* '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?$' or length(v_digits) > 38 then
    return false;
  end if;
  return case
    when v_digits = '' or v_exponent like '-%' then true
    -- Not even a million decimals, all that a message holds, make up for it.
    when length(v_exponent) > 7 then false
    -- The number is 0.digits times ten to this power.
    else length(v_digits) - length(split_part(v_mantissa, '.', 2)) + coalesce(nullif(v_exponent, ''), '0')::integer <= 128
  end;
end
$$;
