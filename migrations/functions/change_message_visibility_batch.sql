-- Changes how long messages stay hidden, counted from now; zero makes them visible by the caller's commit.
-- All or none. Raises TQ008 when a message is gone or, in a FIFO queue, no longer the caller's; TQ012 when it would be
-- hidden for more than 12 hours since its receive; TQ007 for what is no receipt handle of this queue; TQ013 for null and
-- without a timeout.
create or replace function trunkline.change_message_visibility_batch(
  queue_name text,
  receipt_handles text[],
  visibility_timeouts interval[]
)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue trunkline.queues := trunkline._find_queue(queue_name);
  v_timeouts integer[];
  v_outcomes text[];
  v_failed record;
begin
  v_timeouts := array(
    select trunkline._seconds(given.timeout, 'VisibilityTimeout', 43200)
    from unnest(visibility_timeouts) with ordinality as given (timeout, position)
    order by given.position
  );
  if array_position(v_timeouts, null) is not null then
    raise exception 'The request must contain the parameter VisibilityTimeout.' using errcode = 'TQ013';
  elsif cardinality(v_timeouts) <> coalesce(cardinality(receipt_handles), 0) then
    raise exception 'There must be one visibility timeout for each receipt handle.' using errcode = 'TQ012';
  end if;
  if v_queue.is_fifo then
    v_outcomes := trunkline._change_fifo_visibility(v_queue, receipt_handles, v_timeouts);
  else
    v_outcomes := trunkline._change_visibility(v_queue, receipt_handles, v_timeouts);
  end if;

  select changed.receipt_handle, changed.seconds, changed.outcome
  into v_failed
  from unnest(receipt_handles, v_timeouts, v_outcomes) with ordinality
    as changed (receipt_handle, seconds, outcome, entry)
  where changed.outcome <> 'changed'
  order by changed.entry
  limit 1;
  if not found then
    return;
  end if;
  case v_failed.outcome
    when 'invalid' then
      perform trunkline._refuse_receipt_handle(v_failed.receipt_handle);
    when 'too_long' then
      raise exception 'Value % for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]', v_failed.seconds
        using errcode = 'TQ012';
    else
      raise exception 'Value % for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.', v_failed.receipt_handle
        using errcode = 'TQ008';
  end case;
end
$$;
