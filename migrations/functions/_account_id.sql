-- The account whose queues SQL users mean by a name.
create or replace function trunkline._account_id()
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    nullif(current_setting('trunkline.account_id', true), ''),
    (select settings.account_id from trunkline.settings)
  )
$$;
