-- Sets columns of a queue; others keep their values. Raises TQ001 when the queue is gone.
create or replace function trunkline._set_queue_columns(
  p_queue_id bigint,
  p_columns jsonb,
  p_now timestamptz
)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update trunkline.queues as queue
  set (
    visibility_timeout_seconds, delay_seconds, maximum_message_size_bytes, message_retention_seconds,
    receive_wait_seconds, content_based_deduplication, deduplication_scope, fifo_throughput_limit,
    policy, dead_letter_target_arn, max_receive_count, redrive_allow_policy,
    kms_master_key_id, kms_data_key_reuse_seconds, is_sse_managed, modified_at
  ) = (
    select
      visibility_timeout_seconds, delay_seconds, maximum_message_size_bytes, message_retention_seconds,
      receive_wait_seconds, content_based_deduplication, deduplication_scope, fifo_throughput_limit,
      policy, dead_letter_target_arn, max_receive_count, redrive_allow_policy,
      kms_master_key_id, kms_data_key_reuse_seconds, is_sse_managed, p_now
    from jsonb_populate_record(queue, p_columns)
  )
  where queue.id = p_queue_id;
  if not found then
    perform trunkline._require_queue(p_queue_id);
  end if;
end
$$;
