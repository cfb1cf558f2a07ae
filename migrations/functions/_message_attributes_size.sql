-- Bytes that message attributes add to a message: names, types and raw values.
create or replace function trunkline._message_attributes_size(p_attributes jsonb)
returns integer
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select coalesce(
      sum(
        octet_length(attribute.key)
          + octet_length(attribute.value ->> 'DataType')
          + coalesce(octet_length(attribute.value ->> 'StringValue'), 0)
          + coalesce(octet_length(decode(attribute.value ->> 'BinaryValue', 'base64')), 0)
      ),
      0
    )::integer
    from jsonb_each(p_attributes) as attribute
  );
end
$$;
