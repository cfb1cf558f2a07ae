-- Tags given by a caller, as they are. Raises TQ012 unless they are a JSON object of at most 50 texts, with keys
-- of 1 to 128 and values of up to 256 characters.
create or replace function trunkline._require_tags(p_tags jsonb)
returns jsonb
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tags jsonb := trunkline._require_json_object(p_tags, 'Tags');
  v_count integer;
begin
  select count(*) into v_count from jsonb_object_keys(v_tags);
  if v_count > 50 then
    raise exception 'Too many tags: %, the maximum is 50.', v_count using errcode = 'TQ012';
  elsif exists (select from jsonb_object_keys(v_tags) as tag (key) where length(tag.key) not between 1 and 128) then
    raise exception 'Tag keys must be between 1 and 128 characters in length.' using errcode = 'TQ012';
  elsif exists (
    select
    from jsonb_each(v_tags) as tag (key, value)
    where jsonb_typeof(tag.value) <> 'string' or length(tag.value #>> '{}') > 256
  ) then
    raise exception 'Tag values must be texts of up to 256 characters.' using errcode = 'TQ012';
  end if;
  return v_tags;
end
$$;
