-- Takes the send locks of message groups until the transaction ends. Who holds a group's lock alone may add
-- messages to the group, so that its sequence numbers are in the order of commits, and alone may remove its
-- row in message_groups.
--
-- The shared lock table is small (by default about 6 400 entries for the whole server), so a transaction
-- holds at most 128 groups one by one. Beyond that it locks buckets of groups: who locks a group by itself
-- shares its bucket, who locks the bucket has it alone, and the two exclude each other.
--
-- Locks are taken in one order by everybody within a call. Over several calls of one transaction two
-- transactions can still deadlock, of which PostgreSQL then ends one with SQLSTATE 40P01. Beyond 128 groups they need no
-- group in common for that, because each wants a bucket alone that both share already.
--
-- Unless p_may_wait, raises TQ006 when a lock is not free.
create or replace function trunkline._lock_message_groups(
  p_queue_id bigint,
  p_group_ids text[],
  p_may_wait boolean
)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bucket_space constant integer := trunkline._message_group_bucket_space();
  v_held integer := coalesce(nullif(current_setting('trunkline.held_group_locks', true), ''), '0');
  v_keys bigint[] := array(
    select distinct hashtextextended(given.group_id, p_queue_id) as key
    from unnest(p_group_ids) as given (group_id)
    order by key
  );
  v_takes_buckets constant boolean := v_held + cardinality(v_keys) > trunkline._most_message_group_locks();
  v_buckets constant integer[] := array(
    select distinct trunkline._message_group_bucket(p_queue_id, bucketed.key) as bucket
    from unnest(v_keys) as bucketed (key)
    order by bucket
  );
  v_is_locked boolean := true;
begin
  if v_takes_buckets and p_may_wait then
    perform pg_advisory_xact_lock(v_bucket_space, given.bucket) from unnest(v_buckets) as given (bucket);
  elsif v_takes_buckets then
    v_is_locked := (
      select bool_and(pg_try_advisory_xact_lock(v_bucket_space, given.bucket)) from unnest(v_buckets) as given (bucket)
    );
  elsif p_may_wait then
    perform pg_advisory_xact_lock_shared(v_bucket_space, given.bucket) from unnest(v_buckets) as given (bucket);
    perform pg_advisory_xact_lock(given.key) from unnest(v_keys) as given (key);
  else
    v_is_locked := (
      select bool_and(pg_try_advisory_xact_lock_shared(v_bucket_space, given.bucket))
      from unnest(v_buckets) as given (bucket)
    ) and (
      select bool_and(pg_try_advisory_xact_lock(given.key)) from unnest(v_keys) as given (key)
    );
  end if;

  if not v_takes_buckets then
    perform set_config('trunkline.held_group_locks', (v_held + cardinality(v_keys))::text, true);
  end if;

  if not v_is_locked then
    raise exception 'Another transaction is sending to a message group of this request.'
      using errcode = 'TQ006';
  end if;
end
$$;
