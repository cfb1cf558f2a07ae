-- Sets group rows by their heads, after a head may have changed. The caller has the rows locked, in a
-- statement before this one, so that the heads are read from a snapshot taken under the lock.
--
-- A group whose head is visible already counts from now on: so the group goes behind those that wait for a
-- receive longer, and no row ever gets a time in the past, which the low-water mark rests on.
create or replace function trunkline._refresh_message_groups(
  p_queue trunkline.queues,
  p_group_ids text[],
  p_now timestamptz
)
returns void
language sql
set search_path = pg_catalog, pg_temp
set jit = off
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
  update trunkline.message_groups as known
  set head_id = coalesce(head.id, known.head_id),
      visible_at = greatest(head.visible_at, p_now),
      drained_at = case when head.id is null then p_now end
  from unnest(p_group_ids) as refreshed (group_id)
  cross join lateral (
    select locked.head_id
    from trunkline.message_groups as locked
    where locked.queue_id = (p_queue).id and locked.group_id = refreshed.group_id
  ) as before
  left join lateral (
    select message.id, message.visible_at
    from trunkline.messages as message
    where message.queue_id = (p_queue).id
      and message.group_id = refreshed.group_id
      and message.deduplication_id is not null
      and message.id >= before.head_id
      and message.sent_at > p_now - make_interval(secs => (p_queue).message_retention_seconds)
    order by message.id
    limit 1
  ) as head on true
  where known.queue_id = (p_queue).id and known.group_id = refreshed.group_id
$$;
