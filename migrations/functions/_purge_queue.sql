-- Empties a queue by giving it a new id; answers that id. Whatever was sent before, delayed and in-flight
-- messages included, stays behind under the old one.
-- Raises TQ001 when the queue is gone, TQ003 when it was purged less than 60 seconds ago.
create or replace function trunkline._purge_queue(p_queue_id bigint, p_now timestamptz default null)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_queue trunkline.queues;
  v_new_id bigint;
begin
  select * into v_queue from trunkline.queues where id = p_queue_id for update;
  if not found then
    perform trunkline._require_queue(p_queue_id);
  end if;
  if v_queue.purged_at > v_now - interval '60 seconds' then
    raise exception 'Only one PurgeQueue operation on % is allowed every 60 seconds.', v_queue.name
      using errcode = 'TQ003';
  end if;

  update trunkline.queues
  set id = nextval('trunkline.queue_ids'), purged_at = v_now
  where id = p_queue_id
  returning id into v_new_id;
  perform trunkline._discard_queue(v_queue, false, v_now);
  return v_new_id;
end
$$;
