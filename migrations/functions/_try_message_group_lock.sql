-- Takes the send lock of a message group until the transaction ends, if nobody has it and the transaction has
-- room for one more lock; answers whether it did. The locks are those of _lock_message_groups.
create or replace function trunkline._try_message_group_lock(p_queue_id bigint, p_group_id text)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key constant bigint := hashtextextended(p_group_id, p_queue_id);
  v_held constant integer := coalesce(nullif(current_setting('trunkline.held_group_locks', true), ''), '0');
begin
  if v_held >= trunkline._most_message_group_locks()
    or not pg_try_advisory_xact_lock_shared(
      trunkline._message_group_bucket_space(), trunkline._message_group_bucket(p_queue_id, v_key)
    )
    or not pg_try_advisory_xact_lock(v_key)
  then
    return false;
  end if;
  perform set_config('trunkline.held_group_locks', (v_held + 1)::text, true);
  return true;
end
$$;
