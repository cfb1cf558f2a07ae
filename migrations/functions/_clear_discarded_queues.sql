-- Removes up to p_limit rows of a purged or deleted queue; answers how many went. A discarded queue is
-- forgotten when nothing is left of it, no transaction is running that could still add to it, and the
-- longest cooldown for its name is over.
create or replace function trunkline._clear_discarded_queues(p_limit integer, p_now timestamptz default null)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_discarded trunkline.discarded_queues;
  v_table text;
  v_removed bigint;
begin
  if not pg_try_advisory_xact_lock(hashtext('trunkline'), hashtext('clear discarded queues')) then
    return 0;
  end if;

  for v_discarded in
    select * from trunkline.discarded_queues order by discarded_at
  loop
    delete from trunkline.messages as message
    where message.queue_id = v_discarded.queue_id
      and message.id = any (array(
        select oldest.id
        from trunkline.messages as oldest
        where oldest.queue_id = v_discarded.queue_id
        order by oldest.id
        limit p_limit
        for update skip locked
      ));
    get diagnostics v_removed = row_count;
    if v_removed > 0 then
      return v_removed;
    end if;

    foreach v_table in array array['deduplications', 'receive_attempts', 'message_groups', 'count_deltas'] loop
      execute format(
        'delete from trunkline.%1$I
         where ctid = any (array(select ctid from trunkline.%1$I where queue_id = $1 limit $2 for update skip locked))',
        v_table
      ) using v_discarded.queue_id, p_limit;
      get diagnostics v_removed = row_count;
      if v_removed > 0 then
        return v_removed;
      end if;
    end loop;

    if v_discarded.discarded_at < v_now - interval '60 seconds'
      and pg_snapshot_xmin(pg_current_snapshot()) >= v_discarded.discarded_xid
      and not exists (select from trunkline.messages as message where message.queue_id = v_discarded.queue_id)
    then
      delete from trunkline.queue_progress where queue_id = v_discarded.queue_id;
      delete from trunkline.discarded_queues where queue_id = v_discarded.queue_id;
    end if;
  end loop;
  return 0;
end
$$;
