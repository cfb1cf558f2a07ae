-- Locks up to p_limit groups of a FIFO queue that can be received from, the longest waiting first, leaving
-- out those in p_except and those that others have locked.
--
-- When these do not suffice, drained groups that have messages after all are next: a send that had not
-- committed when the group was drained has by now.
create or replace function trunkline._claim_message_groups(
  p_queue trunkline.queues,
  p_limit integer,
  p_except text[],
  p_now timestamptz
)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  v_groups text[];
begin
  v_groups := array(
    select ready.group_id
    from trunkline.message_groups as ready
    where ready.queue_id = (p_queue).id
      and ready.drained_at is null
      and ready.visible_at >= coalesce(
        (select progress.visible_from from trunkline.queue_progress as progress where progress.queue_id = (p_queue).id),
        '-infinity'
      )
      and ready.visible_at <= p_now
      and ready.group_id <> all (p_except)
    order by ready.visible_at
    limit p_limit
    for update skip locked
  );
  if v_groups <> '{}' then
    return v_groups;
  end if;

  return array(
    select drained.group_id
    from trunkline.message_groups as drained
    where drained.queue_id = (p_queue).id
      and drained.drained_at is not null
      and drained.group_id <> all (p_except)
      and exists (
        select
        from trunkline.messages as message
        where message.queue_id = (p_queue).id
          and message.group_id = drained.group_id
          and message.deduplication_id is not null
          and message.id >= drained.head_id
          and message.visible_at <= p_now
          and message.sent_at > p_now - make_interval(secs => (p_queue).message_retention_seconds)
      )
    order by drained.drained_at
    limit p_limit
    for update skip locked
  );
end
$$;
