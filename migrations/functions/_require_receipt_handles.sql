-- Raises TQ013 when one of the receipt handles given is null.
create or replace function trunkline._require_receipt_handles(p_receipt_handles text[])
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if array_position(p_receipt_handles, null) is not null then
    raise exception 'The request must contain the parameter ReceiptHandle.' using errcode = 'TQ013';
  end if;
end
$$;
