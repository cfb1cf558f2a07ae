-- The MD5 of message attributes, or null without any: names in ascending order; name, type and value each
-- behind its length, and one byte between type and value that tells text (1) from binary (2).
-- Source: "Calculating the MD5 message digest for message attributes" in the SQS developer guide.
create or replace function trunkline._message_attributes_md5(p_attributes jsonb)
returns text
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select md5(string_agg(
      int4send(octet_length(part.name)) || part.name
        || int4send(octet_length(part.type)) || part.type
        || part.transport
        || int4send(octet_length(part.value)) || part.value,
      ''::bytea order by part.name
    ))
    from (
      select
        convert_to(attribute.key, 'UTF8') as name,
        convert_to(attribute.value ->> 'DataType', 'UTF8') as type,
        case when attribute.value ? 'BinaryValue' then E'\\x02'::bytea else E'\\x01'::bytea end as transport,
        case
          when attribute.value ? 'BinaryValue' then decode(attribute.value ->> 'BinaryValue', 'base64')
          else convert_to(attribute.value ->> 'StringValue', 'UTF8')
        end as value
      from jsonb_each(p_attributes) as attribute
    ) as part
  );
end
$$;
