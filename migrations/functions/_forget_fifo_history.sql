-- Removes up to p_limit each of: deduplication ids and receive attempts whose five minutes are over, and rows of
-- groups that have been empty for a minute. Looks into up to p_limit drained groups: has those that no send is under
-- way to marked as empty, and puts those that have messages after all into use again. Answers how many rows it dealt
-- with.
create or replace function trunkline._forget_fifo_history(p_limit integer, p_now timestamptz default null)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_queue trunkline.queues;
  v_forgotten bigint := 0;
  v_count bigint;
  v_groups trunkline.locked_group[];
begin
  if not pg_try_advisory_xact_lock(hashtext('trunkline'), hashtext('forget fifo history')) then
    return 0;
  end if;

  -- At random, because a transaction has locks for so many groups only.
  for v_queue in select * from trunkline.queues where is_fifo order by random() loop
    delete from trunkline.deduplications as known
    where known.ctid = any (array(
      select expired.ctid
      from trunkline.deduplications as expired
      where expired.queue_id = v_queue.id
        and expired.expires_at > '-infinity'
        and expired.expires_at >= coalesce(
          (select progress.expires_from from trunkline.queue_progress as progress where progress.queue_id = v_queue.id),
          '-infinity'
        )
        and expired.expires_at <= v_now
      order by expired.expires_at
      limit p_limit
      for update skip locked
    ));
    get diagnostics v_count = row_count;
    v_forgotten := v_forgotten + v_count;

    delete from trunkline.receive_attempts as attempt
    where attempt.ctid = any (array(
      select expired.ctid
      from trunkline.receive_attempts as expired
      where expired.queue_id = v_queue.id
        and expired.expires_at > '-infinity'
        and expired.expires_at <= v_now
      order by expired.expires_at
      limit p_limit
      for update skip locked
    ));
    get diagnostics v_count = row_count;
    v_forgotten := v_forgotten + v_count;

    -- Few of them, so that locks are left for the drained groups below.
    v_forgotten := v_forgotten + trunkline._remove_empty_groups(v_queue.id, least(p_limit, 64), v_now);
  end loop;

  -- Last, because consumers wait for these rows, and under an old snapshot what is above takes its time.
  for v_queue in select * from trunkline.queues where is_fifo loop
    v_groups := array(
      select row(drained.group_id, drained.head_id, drained.ctid)::trunkline.locked_group
      from trunkline.message_groups as drained
      where drained.queue_id = v_queue.id
        and not drained.is_empty
        and drained.drained_at >= coalesce(
          (select progress.drained_from from trunkline.queue_progress as progress where progress.queue_id = v_queue.id),
          '-infinity'
        )
      -- At random, since some may have sends under way to them for long and would be in front for as long.
      order by random()
      limit p_limit
      for update skip locked
    );
    -- With a time read after rows are locked, so after the transaction has its id: settlement rests on that order.
    v_forgotten := v_forgotten + cardinality(v_groups)
      - trunkline._refresh_message_groups(v_queue, v_groups, coalesce(p_now, clock_timestamp()), true);
  end loop;
  return v_forgotten;
end
$$;
