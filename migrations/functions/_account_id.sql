-- The account whose queues SQL users mean by a name.
create or replace function trunkline._account_id()
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(
    nullif(current_setting('trunkline.account_id', true), ''),
    (select settings.account_id from trunkline.settings)
  );
end
$$;
