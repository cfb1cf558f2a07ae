-- Locks up to p_limit groups of a FIFO queue that can be received from, the longest waiting first, leaving
-- out those in p_except and those that others have locked.
--
-- A drained group may have messages after all: a send that had not committed when it was drained has by
-- now. Its turn comes by when its head became visible, like that of the others, as far as it is among the
-- few that were drained last; and a look at many more comes when nothing else is left. Beyond that the janitor sees to them.
create or replace function trunkline._claim_message_groups(
  p_queue trunkline.queues,
  p_limit integer,
  p_except text[],
  p_now timestamptz
)
returns trunkline.locked_group[]
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  v_groups trunkline.locked_group[];
  v_oldest_in_drained timestamptz;
begin
  if p_except = '{}' then
    v_oldest_in_drained := trunkline._oldest_in_drained_groups((p_queue).id, 20);
  end if;
  if v_oldest_in_drained is not null
    and v_oldest_in_drained < coalesce(trunkline._oldest_ready_group((p_queue).id, null, p_now), p_now)
  then
    v_groups := trunkline._claim_drained_groups(p_queue, 1, p_except, 20, p_now);
    if v_groups <> '{}' then
      return v_groups;
    end if;
  end if;

  v_groups := array(
    select row(ready.group_id, ready.head_id, ready.ctid)::trunkline.locked_group
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
  return trunkline._claim_drained_groups(p_queue, p_limit, p_except, 1000, p_now);
end
$$;
