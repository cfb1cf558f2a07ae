-- The groups of a FIFO queue that were drained last, but for empty ones, from the low-water mark on. Those are the
-- likeliest to have messages after all: a send that was under way when a group was drained commits soon after, as a rule.
-- Becomes part of the statement that calls it, whose function has to switch off sequential scans, bitmap scans and sorts.
create or replace function trunkline._latest_drained_groups(p_queue_id bigint, p_limit integer)
returns table (group_id text, head_id bigint, place tid)
language sql
stable
begin atomic
  select drained.group_id, drained.head_id, drained.ctid
  from trunkline.message_groups as drained
  where drained.queue_id = p_queue_id
    and not drained.is_empty
    and drained.drained_at >= coalesce(
      (select progress.drained_from from trunkline.queue_progress as progress where progress.queue_id = p_queue_id),
      '-infinity'
    )
  order by drained.drained_at desc
  limit p_limit;
end;
