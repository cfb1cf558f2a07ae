-- Raises TQ012 unless a queue of the kind may have this name.
create or replace function trunkline._require_queue_name(p_name text, p_is_fifo boolean)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(p_name, '') = '' then
    raise exception 'Queue name cannot be empty' using errcode = 'TQ012';
  elsif p_is_fifo and p_name !~ '^[A-Za-z0-9_-]{1,75}[.]fifo$' then
    raise exception 'The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.'
      using errcode = 'TQ012';
  elsif not p_is_fifo and p_name !~ '^[A-Za-z0-9_-]{1,80}$' then
    raise exception 'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length'
      using errcode = 'TQ012';
  end if;
end
$$;
