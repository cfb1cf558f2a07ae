-- The queue of this name in the account of SQL users: `trunkline.account_id` if the session sets it, else the
-- one in trunkline.settings. Raises TQ001 when there is none.
create or replace function trunkline._find_queue(p_name text)
returns trunkline.queues
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue trunkline.queues;
begin
  if p_name is null then
    raise exception 'The request must contain the parameter QueueName.' using errcode = 'TQ013';
  end if;
  select * into v_queue
  from trunkline.queues
  -- As _account_id, of which the call takes longer than all the rest.
  where name = p_name
    and account_id = coalesce(
      nullif(current_setting('trunkline.account_id', true), ''),
      (select settings.account_id from trunkline.settings)
    );
  if not found then
    raise exception 'The specified queue does not exist.'
      using errcode = 'TQ001', detail = format('There is no queue named %s in account %s.', p_name, trunkline._account_id());
  end if;
  return v_queue;
end
$$;
