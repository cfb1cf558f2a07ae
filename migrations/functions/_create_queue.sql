-- Creates a queue, or finds the one of that name.
--
-- p_attributes maps columns of trunkline.queues to values. For a queue that exists already,
-- differing_column names the first given column whose value differs from the queue's; nothing is changed.
-- Raises TQ004 when a queue of the name was deleted less than p_cooldown_seconds ago.
create or replace function trunkline._create_queue(
  p_account_id text,
  p_name text,
  p_attributes jsonb default '{}',
  p_tags jsonb default '{}',
  p_cooldown_seconds integer default 0,
  p_now timestamptz default null
)
returns table (queue_id bigint, is_created boolean, differing_column text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_queue trunkline.queues;
begin
  if p_cooldown_seconds > 0 and exists (
    select
    from trunkline.discarded_queues as discarded
    where discarded.account_id = p_account_id
      and discarded.name = p_name
      and discarded.is_deleted
      and discarded.discarded_at > v_now - make_interval(secs => p_cooldown_seconds)
  ) then
    raise exception 'You must wait % seconds after deleting a queue before you can create another with the same name.', p_cooldown_seconds
      using errcode = 'TQ004';
  end if;

  insert into trunkline.queues as queue (account_id, name, is_fifo, created_at, modified_at, tags)
  values (
    p_account_id, p_name, coalesce((p_attributes ->> 'is_fifo')::boolean, false),
    v_now, v_now, p_tags
  )
  on conflict on constraint queues_account_id_name_key do nothing
  returning * into v_queue;

  if found then
    perform trunkline._set_queue_attributes(v_queue.id, p_attributes, v_now);
    return query select v_queue.id, true, null::text;
    return;
  end if;

  select * into v_queue
  from trunkline.queues as queue
  where queue.account_id = p_account_id and queue.name = p_name;
  if not found then
    -- Deleted between the two statements: the caller starts over.
    raise exception 'The specified queue does not exist.' using errcode = 'TQ001';
  end if;

  return query
  select v_queue.id, false, (
    select given.key
    from jsonb_each(p_attributes) with ordinality as given (key, value, position)
    where to_jsonb(v_queue) -> given.key is distinct from given.value
    order by given.position
    limit 1
  );
end
$$;
