-- Deletes those messages that are still the caller's; answers for each handle, in the order given, whether its
-- message was deleted. Raises TQ007 for what is no receipt handle of this queue.
create or replace function trunkline.delete_message_batch_or_ignore(queue_name text, receipt_handles text[])
returns boolean[]
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_outcomes constant text[] := trunkline._delete_by_handles(trunkline._find_queue(queue_name), receipt_handles);
  v_invalid constant integer := array_position(v_outcomes, 'invalid');
begin
  if v_invalid is not null then
    raise exception 'The input receipt handle "%" is not a valid receipt handle.', receipt_handles[v_invalid]
      using errcode = 'TQ007';
  end if;
  return array(
    select handle.outcome = 'deleted'
    from unnest(v_outcomes) with ordinality as handle (outcome, entry)
    order by handle.entry
  );
end
$$;
