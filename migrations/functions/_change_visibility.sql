-- Changes the visibility timeout of received messages of a standard queue, counted from now. One outcome
-- per handle, in the order given:
--
--   changed   the message is hidden for the timeout, or visible at once for a timeout of 0
--   missing   the message is gone
--   too_long  the message would be hidden for more than 12 hours since its receive
--   invalid   not a receipt handle of this queue
--
-- As on AWS, a handle stays good for this after its timeout and after a later receive of the message.
-- Of several entries for one message the last one counts. Raises TQ001 when the queue is gone.
create or replace function trunkline._change_visibility(
  p_queue_id bigint,
  p_receipt_handles text[],
  p_timeouts_seconds integer[],
  p_now timestamptz default null
)
returns table (outcome text)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_queue trunkline.queues := trunkline._require_queue(p_queue_id);
  v_now timestamptz;
begin
  -- The transaction has its id before the clock is read: settlement rests on that order.
  perform pg_current_xact_id();
  v_now := coalesce(p_now, clock_timestamp());

  return query
  with handle as materialized (
    select given.entry, given.id, timeout.seconds
    from trunkline._read_receipt_handles(v_queue.receipt_key, p_receipt_handles) as given
    join unnest(p_timeouts_seconds) with ordinality as timeout (seconds, entry) using (entry)
  ),
  -- Locked in id order, as every statement here locks messages, so that two batches cannot deadlock.
  found as materialized (
    select message.id, message.received_at
    from trunkline.messages as message
    where message.queue_id = p_queue_id
      and message.id = any (array(select handle.id from handle where handle.id is not null))
      and message.received_at is not null
      and message.sent_at > v_now - make_interval(secs => v_queue.message_retention_seconds)
    order by message.id
    for update
  ),
  judged as materialized (
    select
      handle.entry,
      handle.id,
      handle.seconds,
      case
        when handle.id is null then 'invalid'
        when found.id is null then 'missing'
        when v_now - found.received_at + make_interval(secs => handle.seconds) > interval '12 hours' then 'too_long'
        else 'changed'
      end as outcome
    from handle
    left join found on found.id = handle.id
  ),
  changed as (
    update trunkline.messages as message
    set visible_at = v_now + make_interval(secs => latest.seconds)
    from (
      select distinct on (judged.id) judged.id, judged.seconds
      from judged
      where judged.outcome = 'changed'
      order by judged.id, judged.entry desc
    ) as latest
    where message.queue_id = p_queue_id and message.id = latest.id
  )
  select judged.outcome from judged order by judged.entry;
end
$$;
