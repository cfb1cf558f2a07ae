-- Where receiving from a queue may start: at its oldest message, or its oldest group if it is a FIFO queue,
-- from p_from on (null: from the present mark on), but never later than p_settled_at.
create or replace function trunkline._low_water_mark(
  p_queue_id bigint,
  p_settled_at timestamptz,
  p_from timestamptz default null
)
returns timestamptz
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select least(
      p_settled_at,
      case
        when exists (select from trunkline.queues as queue where queue.id = p_queue_id and queue.is_fifo)
          then trunkline._oldest_ready_group(p_queue_id, p_from, p_settled_at)
        else trunkline._oldest_message(p_queue_id, p_from, p_settled_at)
      end
    )
  );
end
$$;
