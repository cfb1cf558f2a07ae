-- Whole seconds of an interval given by a caller, or null. Raises TQ012 outside of the range.
create or replace function trunkline._seconds(
  p_interval interval,
  p_parameter text,
  p_maximum_seconds integer
)
returns integer
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_seconds numeric := extract(epoch from p_interval);
begin
  if v_seconds < 0 or v_seconds > p_maximum_seconds then
    raise exception 'Value % for parameter % is invalid. Reason: % must be >= 0 and <= % seconds.',
      p_interval, p_parameter, p_parameter, p_maximum_seconds
      using errcode = 'TQ012';
  end if;
  return ceil(v_seconds)::integer;
end
$$;
