-- Raises TQ012 when a trace header is empty or has characters that a message may not hold.
create or replace function trunkline._check_trace_headers(p_trace_headers text[])
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text;
begin
  select given.header into v_wrong
  from unnest(p_trace_headers) with ordinality as given (header, position)
  where given.header = '' or trunkline._has_forbidden_characters(given.header)
  order by given.position
  limit 1;
  if v_wrong = '' then
    raise exception 'Message system attribute ''AWSTraceHeader'' must contain a non-empty value of type ''String''.'
      using errcode = 'TQ012';
  elsif found then
    raise exception 'Value % for parameter MessageAttribute ''AWSTraceHeader'' is invalid. Reason: Invalid characters found.', v_wrong
      using errcode = 'TQ012';
  end if;
end
$$;
