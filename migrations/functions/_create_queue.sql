-- Creates a queue with attributes of SQS, or finds the one of that name. Answers whether it created it.
--
-- Raises TQ009 when a queue of the name exists and one of the given attributes has another value, TQ004
-- when a queue of the name was deleted less than p_cooldown_seconds ago, TQ010, TQ011 or TQ012 for a wrong
-- name or attribute.
create or replace function trunkline._create_queue(
  p_account_id text,
  p_name text,
  p_attributes json default '{}',
  p_tags jsonb default '{}',
  p_cooldown_seconds integer default 0,
  p_now timestamptz default null
)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_is_fifo boolean := coalesce(lower(p_attributes ->> 'FifoQueue') = 'true', false);
  v_columns jsonb;
  v_queue trunkline.queues;
  v_existing jsonb;
  v_differing text;
begin
  perform trunkline._require_queue_name(p_name, v_is_fifo);
  v_columns := trunkline._parse_queue_attributes(p_attributes, v_is_fifo);
  perform trunkline._check_throughput_limit(v_columns);
  perform trunkline._check_redrive_target(p_account_id, p_name, v_is_fifo, v_columns);

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

  -- A queue that is there is only read, since an insert would wait for whoever is changing it. One that is not may be
  -- created before the insert, and deleted before the next attempt.
  for v_attempt in 1..10 loop
    select * into v_queue
    from trunkline.queues as queue
    where queue.account_id = p_account_id and queue.name = p_name;
    exit when found;
    insert into trunkline.queues as queue (account_id, name, is_fifo, created_at, modified_at, tags)
    values (p_account_id, p_name, v_is_fifo, v_now, v_now, p_tags)
    on conflict on constraint queues_account_id_name_key do nothing
    returning * into v_queue;
    if found then
      perform trunkline._set_queue_columns(v_queue.id, v_columns, v_now);
      return true;
    end if;
  end loop;
  if v_queue.id is null then
    raise exception 'The queue is created and deleted by others all the time.' using errcode = 'serialization_failure';
  end if;

  v_existing := to_jsonb(v_queue);
  select given.name into v_differing
  from json_object_keys(p_attributes) with ordinality as given (name, position)
  where exists (
    select
    from jsonb_each(trunkline._parse_queue_attributes(json_build_object(given.name, p_attributes ->> given.name), v_is_fifo))
      as wanted (key, value)
    where v_existing -> wanted.key is distinct from wanted.value
  )
  order by given.position
  limit 1;
  if found then
    raise exception 'A queue already exists with the same name and a different value for attribute %', v_differing
      using errcode = 'TQ009';
  end if;
  return false;
end
$$;
