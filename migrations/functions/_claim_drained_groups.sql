-- Locks up to p_limit drained groups of a FIFO queue that have a visible message, among the p_examined longest
-- drained (null: all), leaving out those in p_except and those that others have locked.
create or replace function trunkline._claim_drained_groups(
  p_queue trunkline.queues,
  p_limit integer,
  p_except text[],
  p_examined integer,
  p_now timestamptz
)
returns text[]
language sql
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
  select array(
    select locked.group_id
    from (
      select drained.queue_id, drained.group_id, drained.head_id
      from trunkline.message_groups as drained
      where drained.queue_id = (p_queue).id and drained.drained_at is not null
      order by drained.drained_at
      limit p_examined
    ) as examined
    join trunkline.message_groups as locked using (queue_id, group_id)
    where locked.drained_at is not null
      and examined.group_id <> all (p_except)
      and exists (
        select
        from trunkline.messages as message
        where message.queue_id = (p_queue).id
          and message.group_id = examined.group_id
          and message.deduplication_id is not null
          and message.id >= examined.head_id
          and message.visible_at <= p_now
          and message.sent_at > p_now - make_interval(secs => (p_queue).message_retention_seconds)
      )
    limit p_limit
    for update of locked skip locked
  )
$$;
