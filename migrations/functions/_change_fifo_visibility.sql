-- Changes the visibility timeout of in-flight messages of a FIFO queue, counted from now. One outcome per
-- handle, in the order given:
--
--   changed   the message is hidden for the timeout, or visible at once for a timeout of 0
--   missing   the message is gone, its timeout is over, or a later receive has it
--   too_long  the message would be hidden for more than 12 hours since its receive
--   invalid   not a receipt handle of this queue
--
-- Of several entries for one message the last one counts. Raises TQ001 when the queue is gone; with
-- p_is_own_transaction 55P03 after waiting a second for a transaction that has the group.
create or replace function trunkline._change_fifo_visibility(
  p_queue_id bigint,
  p_receipt_handles text[],
  p_timeouts_seconds integer[],
  p_is_own_transaction boolean default false,
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
  v_ids bigint[];
  v_nonces uuid[];
  v_groups text[];
  v_now timestamptz;
  v_outcomes text[];
begin
  perform pg_current_xact_id();
  if p_is_own_transaction then
    perform set_config('lock_timeout', '1s', true);
  end if;
  select array_agg(handle.id order by handle.entry), array_agg(handle.nonce order by handle.entry)
  into v_ids, v_nonces
  from trunkline._read_receipt_handles(v_queue.receipt_key, p_receipt_handles) as handle;
  v_groups := trunkline._lock_groups_of_messages(p_queue_id, v_ids);
  v_now := coalesce(p_now, clock_timestamp());

  select array_agg(
    case
      when handle.id is null then 'invalid'
      when message.id is null then 'missing'
      when v_now - message.received_at + make_interval(secs => timeout.seconds) > interval '12 hours' then 'too_long'
      else 'changed'
    end
    order by handle.entry
  )
  into v_outcomes
  from unnest(v_ids, v_nonces) with ordinality as handle (id, nonce, entry)
  join unnest(p_timeouts_seconds) with ordinality as timeout (seconds, entry) using (entry)
  left join trunkline.messages as message
    on message.queue_id = p_queue_id
    and message.id = handle.id
    and message.receipt_nonce = handle.nonce
    and message.visible_at > v_now
    and message.sent_at > v_now - make_interval(secs => v_queue.message_retention_seconds);

  update trunkline.messages as message
  set visible_at = v_now + make_interval(secs => latest.seconds)
  from (
    select distinct on (handle.id) handle.id, p_timeouts_seconds[handle.entry] as seconds
    from unnest(v_ids) with ordinality as handle (id, entry)
    where v_outcomes[handle.entry] = 'changed'
    order by handle.id, handle.entry desc
  ) as latest
  where message.queue_id = p_queue_id and message.id = latest.id;

  perform trunkline._refresh_message_groups(v_queue, v_groups, v_now);
  return query
  select handle.outcome from unnest(v_outcomes) with ordinality as handle (outcome, entry) order by handle.entry;
end
$$;
