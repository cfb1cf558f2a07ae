-- Raises the error for what is no receipt handle of the queue: TQ013 for null, else TQ007.
create or replace function trunkline._refuse_receipt_handle(p_receipt_handle text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_receipt_handle is null then
    raise exception 'The request must contain the parameter ReceiptHandle.' using errcode = 'TQ013';
  end if;
  raise exception 'The input receipt handle "%" is not a valid receipt handle.', p_receipt_handle using errcode = 'TQ007';
end
$$;
