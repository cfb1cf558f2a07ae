-- The attributes of a queue by their names in SQS, as texts, those without a value left out. The three
-- message counts only with p_with_counts, because they take a look at the messages.
-- Raises TQ001 when the queue is gone.
create or replace function trunkline._describe_queue(
  p_queue_id bigint,
  p_region text,
  p_with_counts boolean,
  p_now timestamptz default null
)
returns jsonb
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue trunkline.queues := trunkline._require_queue(p_queue_id);
  v_attributes jsonb;
begin
  v_attributes := jsonb_build_object(
    'QueueArn', format('arn:aws:sqs:%s:%s:%s', p_region, v_queue.account_id, v_queue.name),
    'CreatedTimestamp', floor(extract(epoch from v_queue.created_at))::bigint::text,
    'LastModifiedTimestamp', floor(extract(epoch from v_queue.modified_at))::bigint::text,
    'VisibilityTimeout', v_queue.visibility_timeout_seconds::text,
    'DelaySeconds', v_queue.delay_seconds::text,
    'MaximumMessageSize', v_queue.maximum_message_size_bytes::text,
    'MessageRetentionPeriod', v_queue.message_retention_seconds::text,
    'ReceiveMessageWaitTimeSeconds', v_queue.receive_wait_seconds::text,
    'SqsManagedSseEnabled', v_queue.is_sse_managed::text,
    'Policy', v_queue.policy,
    'RedrivePolicy', case when v_queue.dead_letter_target_arn is not null then
      format(
        '{"deadLetterTargetArn":%s,"maxReceiveCount":%s}',
        to_json(v_queue.dead_letter_target_arn), v_queue.max_receive_count
      )
    end,
    'RedriveAllowPolicy', v_queue.redrive_allow_policy,
    'KmsMasterKeyId', v_queue.kms_master_key_id,
    'KmsDataKeyReusePeriodSeconds', case when v_queue.kms_master_key_id is not null then
      coalesce(v_queue.kms_data_key_reuse_seconds, 300)::text
    end
  );
  if v_queue.is_fifo then
    v_attributes := v_attributes || jsonb_build_object(
      'FifoQueue', 'true',
      'ContentBasedDeduplication', v_queue.content_based_deduplication::text,
      'DeduplicationScope', v_queue.deduplication_scope,
      'FifoThroughputLimit', v_queue.fifo_throughput_limit
    );
  end if;
  if p_with_counts then
    v_attributes := v_attributes || (
      select jsonb_build_object(
        'ApproximateNumberOfMessages', counts.visible::text,
        'ApproximateNumberOfMessagesNotVisible', counts.in_flight::text,
        'ApproximateNumberOfMessagesDelayed', counts.delayed::text
      )
      from trunkline._queue_counts(p_queue_id, p_now) as counts
    );
  end if;
  return jsonb_strip_nulls(v_attributes);
end
$$;
