-- Deletes a queue with all its messages. At once for everybody who asks after the commit; the rows
-- themselves go later, in the janitor's batches. Raises TQ001 when the queue is gone already.
create or replace function trunkline._delete_queue(p_queue_id bigint, p_now timestamptz default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue trunkline.queues;
begin
  delete from trunkline.queues where id = p_queue_id returning * into v_queue;
  if not found then
    v_queue := trunkline._require_queue(p_queue_id);
  end if;
  perform trunkline._discard_queue(v_queue, true, coalesce(p_now, clock_timestamp()));
end
$$;
