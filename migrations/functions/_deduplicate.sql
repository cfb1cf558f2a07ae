-- Claims deduplication ids for messages about to be sent. One row per entry, in the order given: the
-- message id and id that the entry's sender is answered, and whether the entry is the first with its
-- deduplication id and so to be stored.
--
-- The primary key decides, not a read: of two sends with one id at the same time the second waits for the
-- first to commit, and then gets its ids. An id whose five minutes are over is taken over. A row that is
-- neither is locked all the same, so that the janitor cannot take it away before it is read. Ids are claimed
-- in order, so that two calls cannot deadlock.
create or replace function trunkline._deduplicate(
  p_queue_id bigint,
  p_deduplication_ids text[],
  p_scopes text[],
  p_message_ids uuid[],
  p_ids bigint[],
  p_now timestamptz
)
returns table (entry bigint, message_id uuid, id bigint, is_first boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  v_expires_at timestamptz := p_now + interval '5 minutes';
begin
  insert into trunkline.deduplications as known (
    queue_id, deduplication_id, scope, message_id, id, expires_at
  )
  select distinct on (given.deduplication_id, given.scope)
    p_queue_id, given.deduplication_id, given.scope, given.message_id, given.id, v_expires_at
  from unnest(p_deduplication_ids, p_scopes, p_message_ids, p_ids)
    as given (deduplication_id, scope, message_id, id)
  order by given.deduplication_id, given.scope, given.id
  on conflict on constraint deduplications_pkey do update
  set message_id = excluded.message_id, id = excluded.id, expires_at = excluded.expires_at
  where known.expires_at <= p_now;

  return query
  select given.entry, known.message_id, known.id, known.id = given.id
  from unnest(p_deduplication_ids, p_scopes, p_ids) with ordinality
    as given (deduplication_id, scope, id, entry)
  join trunkline.deduplications as known
    on known.queue_id = p_queue_id
    and known.deduplication_id = given.deduplication_id
    and known.scope = given.scope
  order by given.entry;
end
$$;
