-- As _find_queue, for a change of the queue: nobody else changes it until the transaction ends.
--
-- The row is waited for by the queue's name, because a purge gives it another id. When the queue was deleted meanwhile,
-- one that was created in its place is found. Under repeatable read whoever has to wait gets 40001.
create or replace function trunkline._lock_queue(p_name text)
returns trunkline.queues
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue trunkline.queues;
begin
  -- Goes round again only after somebody else's commit, and raises TQ001 when there is no queue any more.
  loop
    v_queue := trunkline._find_queue(p_name);
    select * into v_queue
    from trunkline.queues as queue
    where queue.account_id = v_queue.account_id and queue.name = p_name
    for update;
    if found then
      return v_queue;
    end if;
  end loop;
end
$$;
