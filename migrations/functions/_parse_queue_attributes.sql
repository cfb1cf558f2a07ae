-- The columns of trunkline.queues that attributes of SQS stand for, with their values.
--
-- Raises TQ010 (InvalidAttributeName), TQ011 (InvalidAttributeValue) or TQ012 (InvalidParameterValue), in
-- the order in which the attributes are given.
create or replace function trunkline._parse_queue_attributes(p_attributes json, p_is_fifo boolean)
returns jsonb
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
  v_value text;
  v_columns jsonb := '{}';
  v_integers constant jsonb := '{
    "VisibilityTimeout": ["visibility_timeout_seconds", 0, 43200],
    "DelaySeconds": ["delay_seconds", 0, 900],
    "MaximumMessageSize": ["maximum_message_size_bytes", 1024, 1048576],
    "MessageRetentionPeriod": ["message_retention_seconds", 60, 1209600],
    "ReceiveMessageWaitTimeSeconds": ["receive_wait_seconds", 0, 20],
    "KmsDataKeyReusePeriodSeconds": ["kms_data_key_reuse_seconds", 60, 86400]
  }';
  v_flags constant jsonb := '{
    "FifoQueue": "is_fifo",
    "ContentBasedDeduplication": "content_based_deduplication",
    "SqsManagedSseEnabled": "is_sse_managed"
  }';
  v_choices constant jsonb := '{
    "DeduplicationScope": ["deduplication_scope", "queue", "messageGroup"],
    "FifoThroughputLimit": ["fifo_throughput_limit", "perQueue", "perMessageGroupId"]
  }';
begin
  if (p_attributes ->> 'KmsMasterKeyId') <> '' and lower(p_attributes ->> 'SqsManagedSseEnabled') = 'true' then
    raise exception 'You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.'
      using errcode = 'TQ010';
  end if;

  for v_name, v_value in select given.key, coalesce(given.value, '') from json_each_text(p_attributes) as given loop
    if not p_is_fifo and v_name in ('FifoQueue', 'ContentBasedDeduplication') then
      raise exception 'Unknown Attribute %.', v_name using errcode = 'TQ010';
    elsif not p_is_fifo and v_name in ('DeduplicationScope', 'FifoThroughputLimit') then
      raise exception 'You can specify the % only when FifoQueue is set to true.', v_name using errcode = 'TQ010';
    end if;

    case
      when v_integers ? v_name then
        if v_value !~ '^[0-9]{1,9}$'
          or v_value::integer not between (v_integers -> v_name ->> 1)::integer and (v_integers -> v_name ->> 2)::integer
        then
          raise exception 'Invalid value for the parameter %.', v_name using errcode = 'TQ011';
        end if;
        v_columns := v_columns || jsonb_build_object(v_integers -> v_name ->> 0, v_value::integer);

      when v_flags ? v_name then
        if lower(v_value) not in ('true', 'false') then
          raise exception 'Invalid value for the parameter %.', v_name using errcode = 'TQ011';
        end if;
        v_columns := v_columns || jsonb_build_object(v_flags ->> v_name, lower(v_value)::boolean);
        if v_name = 'SqsManagedSseEnabled' and lower(v_value) = 'true' then
          v_columns := v_columns || '{"kms_master_key_id": null, "kms_data_key_reuse_seconds": null}';
        end if;

      when v_choices ? v_name then
        if v_value not in (v_choices -> v_name ->> 1, v_choices -> v_name ->> 2) then
          raise exception 'Invalid value for the parameter %.', v_name using errcode = 'TQ011';
        end if;
        v_columns := v_columns || jsonb_build_object(v_choices -> v_name ->> 0, v_value);

      when v_name = 'KmsMasterKeyId' then
        if length(v_value) > 2048 then
          raise exception 'Invalid value for the parameter %.', v_name using errcode = 'TQ011';
        end if;
        -- A key turns the managed encryption off, and taking the key away does not turn it on again.
        v_columns := v_columns
          || jsonb_build_object('kms_master_key_id', nullif(v_value, ''), 'is_sse_managed', false);

      when v_name = 'Policy' then
        v_columns := v_columns || trunkline._parse_policy(v_value);

      when v_name = 'RedrivePolicy' then
        v_columns := v_columns || trunkline._parse_redrive_policy(v_value);

      when v_name = 'RedriveAllowPolicy' then
        v_columns := v_columns || trunkline._parse_redrive_allow_policy(v_value);

      else
        raise exception 'Unknown Attribute %.', v_name using errcode = 'TQ010';
    end case;
  end loop;
  return v_columns;
end
$$;
