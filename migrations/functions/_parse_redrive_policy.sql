-- The columns of a RedrivePolicy attribute. Raises TQ012 when it is malformed; whether its dead-letter queue
-- exists is checked elsewhere. An empty text removes the policy.
create or replace function trunkline._parse_redrive_policy(p_value text)
returns jsonb
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy jsonb := trunkline._json_object_or_null(p_value);
  v_member text;
  v_count text := v_policy ->> 'maxReceiveCount';
begin
  if p_value = '' then
    return '{"dead_letter_target_arn": null, "max_receive_count": null}';
  end if;
  if v_policy is null then
    raise exception 'Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a valid JSON map.'
      using errcode = 'TQ012';
  end if;
  foreach v_member in array array['maxReceiveCount', 'deadLetterTargetArn'] loop
    if v_policy ->> v_member is null then
      raise exception 'Value % for parameter RedrivePolicy is invalid. Reason: Redrive policy does not contain mandatory attribute: %.', p_value, v_member
        using errcode = 'TQ012';
    end if;
  end loop;
  if v_policy - 'maxReceiveCount' - 'deadLetterTargetArn' <> '{}' then
    raise exception 'Value % for parameter RedrivePolicy is invalid. Reason: Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn].', p_value
      using errcode = 'TQ012';
  end if;
  if v_count !~ '^[0-9]{1,4}$' or v_count::integer not between 1 and 1000 then
    raise exception 'Value % for parameter RedrivePolicy is invalid. Reason: Invalid value for maxReceiveCount: %, valid values are from 1 to 1000 both inclusive.', p_value, v_count
      using errcode = 'TQ012';
  end if;
  if trunkline._queue_name_of_arn(v_policy ->> 'deadLetterTargetArn') is null then
    raise exception 'Value % for parameter RedrivePolicy is invalid. Reason: Dead-letter target ARN should be fully qualified ARN.', p_value
      using errcode = 'TQ012';
  end if;
  return jsonb_build_object(
    'dead_letter_target_arn', v_policy ->> 'deadLetterTargetArn',
    'max_receive_count', v_count::integer
  );
end
$$;
