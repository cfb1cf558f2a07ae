-- Claims deduplication ids for messages about to be sent. Answers for each entry, in the order given, the message id
-- and id that its sender is answered, and whether the entry is the first with its deduplication id and so to be stored.
--
-- The primary key decides, not a read: of two sends with one id at the same time the second waits for the
-- first to commit, and then gets its ids. An id whose five minutes are over is taken over. A row that is
-- neither is locked all the same, so that the janitor cannot take it away before it is read. Ids are claimed
-- in order, so that two calls cannot deadlock.
--
-- An id is kept for the scope that the queue had when it was sent. It stays a duplicate within that scope when
-- the queue gets the other one, so that a send can be repeated across the change. Where an id is known in both, that of
-- the group is the one that was sent to it.
create or replace function trunkline._deduplicate(
  p_queue trunkline.queues,
  p_deduplication_ids text[],
  p_group_ids text[],
  p_message_ids uuid[],
  p_ids bigint[],
  p_now timestamptz,
  out message_ids uuid[],
  out ids bigint[],
  out is_first boolean[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_is_scoped_to_group constant boolean := (p_queue).deduplication_scope = 'messageGroup';
  v_expires_at timestamptz := p_now + interval '5 minutes';
  v_earlier_message_ids uuid[];
  v_earlier_ids bigint[];
  v_claimed bigint;
begin
  select array_agg(known.message_id order by given.entry), array_agg(known.id order by given.entry)
  into v_earlier_message_ids, v_earlier_ids
  from unnest(p_deduplication_ids, p_group_ids) with ordinality as given (deduplication_id, group_id, entry)
  left join lateral (
    select earlier.message_id, earlier.id
    from trunkline.deduplications as earlier
    where earlier.queue_id = (p_queue).id
      and earlier.deduplication_id = given.deduplication_id
      and earlier.scope in ('', given.group_id)
      and earlier.expires_at > p_now
    order by earlier.scope desc
    limit 1
  ) as known on true;

  insert into trunkline.deduplications as known (
    queue_id, deduplication_id, scope, message_id, id, expires_at
  )
  select distinct on (given.deduplication_id, claimed.scope)
    (p_queue).id, given.deduplication_id, claimed.scope, given.message_id, given.id, v_expires_at
  from unnest(p_deduplication_ids, p_group_ids, p_message_ids, p_ids, v_earlier_ids)
    as given (deduplication_id, group_id, message_id, id, earlier_id)
  cross join lateral (
    select case when v_is_scoped_to_group then given.group_id else '' end as scope
  ) as claimed
  where given.earlier_id is null
  order by given.deduplication_id, claimed.scope, given.id
  on conflict on constraint deduplications_pkey do update
  set message_id = excluded.message_id, id = excluded.id, expires_at = excluded.expires_at
  where known.expires_at <= p_now;
  get diagnostics v_claimed = row_count;
  -- As nearly always: then nothing is left to look up.
  if v_claimed = cardinality(p_ids) then
    message_ids := p_message_ids;
    ids := p_ids;
    is_first := array_fill(true, array[v_claimed::integer]);
    return;
  end if;

  select
    array_agg(coalesce(given.earlier_message_id, known.message_id) order by given.entry),
    array_agg(coalesce(given.earlier_id, known.id) order by given.entry),
    array_agg(coalesce(known.id = given.id and given.earlier_id is null, false) order by given.entry)
  into message_ids, ids, is_first
  from unnest(p_deduplication_ids, p_group_ids, p_ids, v_earlier_message_ids, v_earlier_ids) with ordinality
    as given (deduplication_id, group_id, id, earlier_message_id, earlier_id, entry)
  left join lateral (
    -- Looked up one by one: what the planner takes for an empty table it would otherwise read whole for each.
    select claimed.message_id, claimed.id
    from trunkline.deduplications as claimed
    where claimed.queue_id = (p_queue).id
      and claimed.deduplication_id = given.deduplication_id
      and claimed.scope = case when v_is_scoped_to_group then given.group_id else '' end
    limit 1
  ) as known on true;
end
$$;
