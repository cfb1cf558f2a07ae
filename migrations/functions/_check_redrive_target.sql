-- Raises TQ012 unless the dead-letter queue in a queue's new columns exists, is of the same type, and lets
-- this queue name it. A queue may name itself, as on AWS.
create or replace function trunkline._check_redrive_target(
  p_account_id text,
  p_name text,
  p_is_fifo boolean,
  p_columns jsonb
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_arn text := p_columns ->> 'dead_letter_target_arn';
  v_target_account text := split_part(v_arn, ':', 5);
  v_target_name text := trunkline._queue_name_of_arn(v_arn);
  v_target trunkline.queues;
  v_allow jsonb;
  v_reason text;
begin
  if v_arn is null or (v_target_account = p_account_id and v_target_name = p_name) then
    return;
  end if;

  select * into v_target
  from trunkline.queues
  where account_id = v_target_account and name = v_target_name;
  v_allow := v_target.redrive_allow_policy::jsonb;
  v_reason := case
    when v_target.id is null then 'Dead letter target does not exist.'
    when v_target.is_fifo <> p_is_fifo then 'Dead-letter queue must be same type of queue as the source..'
    when v_allow ->> 'redrivePermission' = 'denyAll'
      or (
        v_allow ->> 'redrivePermission' = 'byQueue'
        and not exists (
          select
          from jsonb_array_elements_text(v_allow -> 'sourceQueueArns') as allowed (arn)
          where split_part(allowed.arn, ':', 5) = p_account_id and split_part(allowed.arn, ':', 6) = p_name
        )
      )
      then 'Queue does not have permission to use the specified dead-letter queue as its redrive target.'
  end;
  if v_reason is not null then
    raise exception 'Value % for parameter RedrivePolicy is invalid. Reason: %',
      json_build_object('deadLetterTargetArn', v_arn, 'maxReceiveCount', p_columns -> 'max_receive_count'), v_reason
      using errcode = 'TQ012';
  end if;
end
$$;
