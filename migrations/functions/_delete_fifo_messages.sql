-- Deletes messages of a FIFO queue by receipt handle. One outcome per handle, in the order given:
--
--   deleted   the message is gone because of this handle
--   missing   it was gone already
--   expired   the visibility timeout is over, or a later receive has the message
--   invalid   not a receipt handle of this queue
--   busy      another transaction has the group; only with p_is_own_transaction, without it that is waited for
--
-- Deleting a group's head lets the next message go.
--
-- p_is_own_transaction says that the transaction ends right after. Then nobody has to look again into groups that are
-- left empty (_refresh_message_groups).
create or replace function trunkline._delete_fifo_messages(
  p_queue trunkline.queues,
  p_receipt_handles text[],
  p_is_own_transaction boolean default false,
  p_now timestamptz default null
)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_ids bigint[];
  v_nonces uuid[];
  v_groups trunkline.locked_group[];
  v_group_ids text[];
  v_now timestamptz;
  v_outcomes text[];
  v_places tid[];
begin
  perform pg_current_xact_id();
  select array_agg(handle.id order by handle.entry), array_agg(handle.nonce order by handle.entry)
  into v_ids, v_nonces
  from trunkline._read_receipt_handles((p_queue).receipt_key, p_receipt_handles) as handle;
  v_groups := trunkline._lock_groups_of_messages((p_queue).id, v_ids, not p_is_own_transaction);
  v_group_ids := array(select locked.group_id from unnest(v_groups) as locked (group_id, head_id, place));
  v_now := coalesce(p_now, clock_timestamp());

  select
    array_agg(judged.outcome order by judged.entry),
    coalesce(array_agg(distinct judged.place) filter (where judged.outcome = 'deleted'), '{}')
  into v_outcomes, v_places
  from (
    select
      found.entry,
      found.place,
      case
        when handle.id is null then 'invalid'
        when found.id is null then 'missing'
        when found.group_id <> all (v_group_ids) then 'busy'
        when found.visible_at > v_now and found.receipt_nonce = handle.nonce then 'deleted'
        else 'expired'
      end as outcome
    from trunkline._find_messages((p_queue).id, v_ids) as found
    join unnest(v_ids, v_nonces) with ordinality as handle (id, nonce, entry) using (entry)
  ) as judged;
  if v_places <> '{}' then
    delete from trunkline.messages as message where message.ctid = any (v_places);
    insert into trunkline.count_deltas (queue_id, added, removed)
    values ((p_queue).id, 0, cardinality(v_places));
  end if;

  perform trunkline._refresh_message_groups(p_queue, v_groups, v_now, p_is_own_transaction);
  return coalesce(v_outcomes, '{}');
end
$$;
