-- Raises TQ011 when columns of a queue ask for a throughput limit per message group without deduplication per
-- message group.
create or replace function trunkline._check_throughput_limit(p_columns jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_columns ->> 'fifo_throughput_limit' = 'perMessageGroupId'
    and coalesce(p_columns ->> 'deduplication_scope', 'queue') <> 'messageGroup'
  then
    raise exception 'The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup'
      using errcode = 'TQ011';
  end if;
end
$$;
