-- Who may do what. Run after functions were installed, so that new ones are covered.
--
-- trunkline_app executes the public functions and can do nothing else; trunkline_report reads the views. The
-- roles are created where the migrating role may create roles; docs/sql-api.md has the script for elsewhere.

revoke all on schema trunkline from public;
revoke all on all functions in schema trunkline from public;
revoke all on all tables in schema trunkline from public;

do $$
declare
  v_role text;
  v_object text;
begin
  foreach v_role in array array['trunkline_app', 'trunkline_report'] loop
    begin
      if not exists (select from pg_roles where rolname = v_role) then
        execute format('create role %I nologin', v_role);
      end if;
    exception
      when insufficient_privilege then continue;
      -- Another database of the same server is being migrated at the same time.
      when duplicate_object or unique_violation then null;
    end;
    execute format('grant usage on schema trunkline to %I', v_role);
  end loop;

  if exists (select from pg_roles where rolname = 'trunkline_app') then
    for v_object in
      select function.oid::regprocedure::text
      from pg_proc as function
      where function.pronamespace = 'trunkline'::regnamespace
        and not starts_with(function.proname, '_')
    loop
      execute format('grant execute on function %s to trunkline_app', v_object);
    end loop;
  end if;

  if exists (select from pg_roles where rolname = 'trunkline_report') then
    for v_object in
      select relation.oid::regclass::text
      from pg_class as relation
      where relation.relnamespace = 'trunkline'::regnamespace and relation.relkind = 'v'
    loop
      execute format('grant select on %s to trunkline_report', v_object);
    end loop;
    -- What a view calls is executed with the rights of who reads the view.
    for v_object in
      select function.oid::regprocedure::text
      from pg_proc as function
      where function.pronamespace = 'trunkline'::regnamespace
        and starts_with(function.proname, '_report_')
    loop
      execute format('grant execute on function %s to trunkline_report', v_object);
    end loop;
  end if;
end
$$;
