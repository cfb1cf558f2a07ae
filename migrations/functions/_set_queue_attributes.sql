-- Sets attributes of SQS on a queue; others keep their values. Raises TQ001 when the queue is gone, TQ010,
-- TQ011 or TQ012 for a wrong attribute, and TQ013 when none is given.
create or replace function trunkline._set_queue_attributes(
  p_queue_id bigint,
  p_attributes json,
  p_now timestamptz default null
)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue trunkline.queues;
  v_columns jsonb;
begin
  -- Whether attributes go together is told by all of them, so nobody else may be setting one of the others.
  select * into v_queue from trunkline.queues where id = p_queue_id for update;
  if not found then
    perform trunkline._require_queue(p_queue_id);
  end if;
  if p_attributes is null or p_attributes::jsonb = '{}' then
    raise exception 'The request must contain the parameter Attribute.Name.' using errcode = 'TQ013';
  end if;
  v_columns := trunkline._parse_queue_attributes(p_attributes, v_queue.is_fifo);
  if v_columns ->> 'is_fifo' = 'false' then
    raise exception 'Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.'
      using errcode = 'TQ011';
  end if;
  perform trunkline._check_throughput_limit(to_jsonb(v_queue) || v_columns);
  perform trunkline._check_redrive_target(v_queue.account_id, v_queue.name, v_queue.is_fifo, v_columns);
  perform trunkline._set_queue_columns(p_queue_id, v_columns, coalesce(p_now, clock_timestamp()));
end
$$;
