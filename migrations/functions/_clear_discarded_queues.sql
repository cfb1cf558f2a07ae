-- Removes up to p_limit rows of a purged or deleted queue; answers how many went. A discarded queue is
-- forgotten when nothing is left of it and the longest cooldown for its name is over.
--
-- A transaction that looked the queue up before may still commit messages under the old id, at any time
-- after. So when nothing else is to do, ids that belong to no queue are looked for and discarded once more.
create or replace function trunkline._clear_discarded_queues(p_limit integer, p_now timestamptz default null)
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
    foreach v_table in array
      array['messages', 'deduplications', 'receive_attempts', 'message_groups', 'message_group_names', 'count_deltas']
    loop
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

    if v_discarded.discarded_at < v_now - interval '60 seconds' then
      delete from trunkline.queue_progress where queue_id = v_discarded.queue_id;
      delete from trunkline.discarded_queues where queue_id = v_discarded.queue_id;
    end if;
  end loop;

  -- Hops from one queue id to the next instead of reading every message.
  with recursive present as (
    (select message.queue_id from trunkline.messages as message order by message.queue_id limit 1)
    union all
    select (
      select message.queue_id
      from trunkline.messages as message
      where message.queue_id > present.queue_id
      order by message.queue_id
      limit 1
    )
    from present
    where present.queue_id is not null
  )
  insert into trunkline.discarded_queues (queue_id, account_id, name, is_deleted, discarded_at)
  select present.queue_id, '', '', false, v_now
  from present
  where present.queue_id is not null
    and not exists (select from trunkline.queues as queue where queue.id = present.queue_id)
  on conflict do nothing;
  if found then
    return trunkline._clear_discarded_queues(p_limit, p_now);
  end if;
  return 0;
end
$$;
