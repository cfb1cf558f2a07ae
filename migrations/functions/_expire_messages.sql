-- Removes up to p_limit messages past their queue's retention; answers how many. Oldest ids first, which is
-- close to oldest first: a queue is left at its first batch without an expired message.
-- Nothing is waited for: a message that somebody has locked is left for the next time.
create or replace function trunkline._expire_messages(p_limit integer, p_now timestamptz default null)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_removed bigint;
begin
  if not pg_try_advisory_xact_lock(hashtext('trunkline'), hashtext('expire messages')) then
    return 0;
  end if;

  with expired as materialized (
    select message.queue_id, message.id
    from trunkline.queues as queue
    cross join lateral (
      select oldest.queue_id, oldest.id, oldest.sent_at
      from trunkline.messages as oldest
      where oldest.queue_id = queue.id
      order by oldest.id
      limit 1000
    ) as message
    where message.sent_at <= v_now - make_interval(secs => queue.message_retention_seconds)
    limit p_limit
  ),
  removable as materialized (
    select message.queue_id, message.id
    from expired
    join trunkline.messages as message using (queue_id, id)
    for update of message skip locked
  ),
  removed as (
    delete from trunkline.messages as message
    using removable
    where message.queue_id = removable.queue_id and message.id = removable.id
    returning message.queue_id
  ),
  counted as (
    insert into trunkline.count_deltas (queue_id, added, removed)
    select removed.queue_id, 0, count(*)
    from removed
    group by removed.queue_id
  )
  select count(*) into v_removed from removed;
  return v_removed;
end
$$;
