-- The queue with this id. Raises TQ001 when it was deleted or purged since the caller looked it up.
create or replace function trunkline._require_queue(p_queue_id bigint)
returns trunkline.queues
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue trunkline.queues;
begin
  select * into v_queue from trunkline.queues where id = p_queue_id;
  if not found then
    raise exception 'The specified queue does not exist.' using errcode = 'TQ001';
  end if;
  return v_queue;
end
$$;
