-- Repeats an earlier receive by its attempt id: hides the same messages anew and answers their ids, or none
-- when there is no such attempt. The caller holds the attempt's lock.
-- Raises TQ005 when a message of the attempt was deleted, changed or received again since, or is past
-- its retention.
create or replace function trunkline._repeat_receive(
  p_queue trunkline.queues,
  p_attempt_id text,
  p_timeout interval,
  p_now timestamptz
)
returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_attempt trunkline.receive_attempts;
  v_groups trunkline.locked_group[];
  v_now timestamptz;
  v_places tid[];
begin
  select * into v_attempt
  from trunkline.receive_attempts as attempt
  where attempt.queue_id = (p_queue).id
    and attempt.attempt_id = p_attempt_id
    and attempt.expires_at > coalesce(p_now, clock_timestamp());
  if not found then
    return '{}';
  end if;

  v_groups := trunkline._lock_groups_of_messages((p_queue).id, v_attempt.message_ids);
  v_now := coalesce(p_now, clock_timestamp());
  v_places := array(
    select found.place
    from trunkline._find_messages((p_queue).id, v_attempt.message_ids) as found
    join unnest(v_attempt.receipt_nonces) with ordinality as received (nonce, entry) using (entry)
    where found.receipt_nonce = received.nonce
      and found.visible_at = v_attempt.visible_at
      and found.sent_at > v_now - make_interval(secs => (p_queue).message_retention_seconds)
  );
  if cardinality(v_places) < cardinality(v_attempt.message_ids) then
    raise exception 'Value % for parameter ReceiveRequestAttemptId is invalid. Reason: The receiveRequestAttemptId is not valid anymore since the receive call is not retryable.', p_attempt_id
      using errcode = 'TQ005';
  end if;

  update trunkline.messages as message
  set visible_at = v_now + p_timeout
  where message.ctid = any (v_places);
  perform trunkline._refresh_message_groups(p_queue, v_groups, v_now);
  update trunkline.receive_attempts as attempt
  set visible_at = v_now + p_timeout
  where attempt.queue_id = (p_queue).id and attempt.attempt_id = p_attempt_id;
  return v_attempt.message_ids;
end
$$;
