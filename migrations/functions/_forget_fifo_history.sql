-- Removes up to p_limit each of: deduplication ids and receive attempts whose five minutes are over, and
-- rows of drained groups. Answers how many rows went.
create or replace function trunkline._forget_fifo_history(p_limit integer, p_now timestamptz default null)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_queue trunkline.queues;
  v_forgotten bigint := 0;
  v_count bigint;
begin
  if not pg_try_advisory_xact_lock(hashtext('trunkline'), hashtext('forget fifo history')) then
    return 0;
  end if;

  for v_queue in select * from trunkline.queues where is_fifo loop
    delete from trunkline.deduplications as known
    where known.queue_id = v_queue.id
      and known.expires_at <= v_now
      and (known.deduplication_id, known.scope) in (
        select expired.deduplication_id, expired.scope
        from trunkline.deduplications as expired
        where expired.queue_id = v_queue.id and expired.expires_at <= v_now
        order by expired.expires_at
        limit p_limit
        for update skip locked
      );
    get diagnostics v_count = row_count;
    v_forgotten := v_forgotten + v_count;

    delete from trunkline.receive_attempts as attempt
    where attempt.queue_id = v_queue.id
      and attempt.attempt_id in (
        select expired.attempt_id
        from trunkline.receive_attempts as expired
        where expired.queue_id = v_queue.id and expired.expires_at <= v_now
        order by expired.expires_at
        limit p_limit
        for update skip locked
      );
    get diagnostics v_count = row_count;
    v_forgotten := v_forgotten + v_count;

    v_forgotten := v_forgotten + trunkline._remove_drained_groups(
      v_queue.id,
      array(
        select drained.group_id
        from trunkline.message_groups as drained
        where drained.queue_id = v_queue.id and drained.drained_at is not null
        order by drained.drained_at
        limit least(p_limit, 100)
      )
    );
  end loop;
  return v_forgotten;
end
$$;
