-- Where a report starts to look for messages of a queue: no message has an earlier visible_at.
--
-- For a standard queue that is where receiving starts. A FIFO queue receives by groups, whose marks pass over
-- messages that wait behind a blocked head; the sampling of statistics keeps one of messages.
create or replace function trunkline._message_low_water_mark(p_queue trunkline.queues)
returns timestamptz
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select coalesce(
      case
        when (p_queue).is_fifo then (trunkline._latest_sample((p_queue).id)).visible_from
        else (select progress.visible_from from trunkline.queue_progress as progress where progress.queue_id = (p_queue).id)
      end,
      '-infinity'
    )
  );
end
$$;
