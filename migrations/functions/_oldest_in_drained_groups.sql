-- The smallest visible_at of messages in groups that were drained while a send was under way to them.
create or replace function trunkline._oldest_in_drained_groups(p_queue_id bigint)
returns timestamptz
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select min(head.visible_at)
  from trunkline.message_groups as drained
  cross join lateral (
    select message.visible_at
    from trunkline.messages as message
    where message.queue_id = p_queue_id
      and message.group_id = drained.group_id
      and message.deduplication_id is not null
      and message.id >= drained.head_id
    order by message.id
    limit 1
  ) as head
  where drained.queue_id = p_queue_id
    and drained.drained_at is not null
$$;
