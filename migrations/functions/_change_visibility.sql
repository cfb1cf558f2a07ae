-- Changes the visibility timeout of received messages of a standard queue, counted from now. One outcome
-- per handle, in the order given:
--
--   changed   the message is hidden for the timeout, or visible at once for a timeout of 0
--   missing   the message is gone
--   too_long  the message would be hidden for more than 12 hours since its receive
--   invalid   not a receipt handle of this queue
--   busy      another transaction has the message; only with p_is_own_transaction, without it that is waited for
--
-- As on AWS, a handle stays good for this after its timeout and after a later receive of the message.
-- Of several entries for one message the last one counts. p_is_own_transaction says that the transaction ends right after.
create or replace function trunkline._change_visibility(
  p_queue trunkline.queues,
  p_receipt_handles text[],
  p_timeouts_seconds integer[],
  p_now timestamptz default null,
  p_is_own_transaction boolean default false
)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_now timestamptz;
  v_sent_after timestamptz;
  v_ids bigint[];
  v_found bigint[];
  v_places tid[];
  v_received_at timestamptz[];
  v_outcomes text[];
begin
  -- The transaction has its id before the clock is read: settlement rests on that order.
  perform pg_current_xact_id();
  v_now := coalesce(p_now, clock_timestamp());
  v_sent_after := v_now - make_interval(secs => (p_queue).message_retention_seconds);
  v_ids := array(
    select handle.id
    from trunkline._read_receipt_handles((p_queue).receipt_key, p_receipt_handles) as handle
    order by handle.entry
  );

  select array_agg(message.id), array_agg(message.place), array_agg(message.received_at)
  into v_found, v_places, v_received_at
  from trunkline._lock_messages((p_queue).id, v_ids, v_sent_after, not p_is_own_transaction) as message;

  v_outcomes := array(
    select
      case
        when handle.id is null then 'invalid'
        when found.id is null and p_is_own_transaction and exists (
          select
          from trunkline.messages as message
          where message.queue_id = (p_queue).id
            and message.id = handle.id
            and message.receipt_nonce is not null
            and message.sent_at > v_sent_after
        ) then 'busy'
        when found.id is null then 'missing'
        when v_now - found.received_at + make_interval(secs => handle.seconds) > interval '12 hours' then 'too_long'
        else 'changed'
      end
    from unnest(v_ids, p_timeouts_seconds) with ordinality as handle (id, seconds, entry)
    left join unnest(v_found, v_received_at) as found (id, received_at) using (id)
    order by handle.entry
  );

  update trunkline.messages as message
  set visible_at = v_now + make_interval(secs => latest.seconds)
  from (
    select distinct on (handle.id) found.place, handle.seconds
    from unnest(v_ids, p_timeouts_seconds, v_outcomes) with ordinality as handle (id, seconds, outcome, entry)
    join unnest(v_found, v_places) as found (id, place) using (id)
    where handle.outcome = 'changed'
    order by handle.id, handle.entry desc
  ) as latest
  where message.ctid = latest.place;

  return v_outcomes;
end
$$;
