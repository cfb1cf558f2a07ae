-- Changes the visibility timeout of in-flight messages of a FIFO queue, counted from now. One outcome per
-- handle, in the order given:
--
--   changed   the message is hidden for the timeout, or visible at once for a timeout of 0
--   missing   the message is gone, its timeout is over, or a later receive has it
--   too_long  the message would be hidden for more than 12 hours since its receive
--   invalid   not a receipt handle of this queue
--   busy      another transaction has the group; only with p_is_own_transaction, without it that is waited for
--
-- Of several entries for one message the last one counts. p_is_own_transaction says that the transaction ends right after.
create or replace function trunkline._change_fifo_visibility(
  p_queue trunkline.queues,
  p_receipt_handles text[],
  p_timeouts_seconds integer[],
  p_is_own_transaction boolean default false,
  p_now timestamptz default null
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
  v_ids bigint[];
  v_nonces uuid[];
  v_groups trunkline.locked_group[];
  v_group_ids text[];
  v_now timestamptz;
  v_outcomes text[];
  v_places tid[];
begin
  perform pg_current_xact_id();
  select array_agg(handle.id order by handle.entry), array_agg(handle.nonce order by handle.entry)
  into v_ids, v_nonces
  from trunkline._read_receipt_handles((p_queue).receipt_key, p_receipt_handles) as handle;
  v_groups := trunkline._lock_groups_of_messages((p_queue).id, v_ids, not p_is_own_transaction);
  v_group_ids := array(select locked.group_id from unnest(v_groups) as locked (group_id, head_id, place));
  v_now := coalesce(p_now, clock_timestamp());

  select
    array_agg(judged.outcome order by judged.entry),
    array_agg(judged.place order by judged.entry)
  into v_outcomes, v_places
  from (
    select
      found.entry,
      found.place,
      case
        when handle.id is null then 'invalid'
        when found.id is null then 'missing'
        when found.group_id <> all (v_group_ids) then 'busy'
        when found.receipt_nonce <> handle.nonce
          or found.visible_at <= v_now
          or found.sent_at <= v_now - make_interval(secs => (p_queue).message_retention_seconds)
          then 'missing'
        when v_now - found.received_at + make_interval(secs => handle.seconds) > interval '12 hours' then 'too_long'
        else 'changed'
      end as outcome
    from trunkline._find_messages((p_queue).id, v_ids) as found
    join unnest(v_ids, v_nonces, p_timeouts_seconds) with ordinality as handle (id, nonce, seconds, entry)
      using (entry)
  ) as judged;

  update trunkline.messages as message
  set visible_at = v_now + make_interval(secs => latest.seconds)
  from (
    select distinct on (handle.place) handle.place, handle.seconds
    from unnest(v_places, p_timeouts_seconds, v_outcomes) with ordinality as handle (place, seconds, outcome, entry)
    where handle.outcome = 'changed'
    order by handle.place, handle.entry desc
  ) as latest
  where message.ctid = latest.place;

  perform trunkline._refresh_message_groups(p_queue, v_groups, v_now);
  return coalesce(v_outcomes, '{}');
end
$$;
