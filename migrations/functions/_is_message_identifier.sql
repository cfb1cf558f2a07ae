-- Whether a text has the form of group, deduplication and attempt ids: 1 to 128 alphanumeric and punctuation
-- characters. A counted repetition in the expression would take fifty times as long.
create or replace function trunkline._is_message_identifier(p_text text)
returns boolean
language sql
immutable
parallel safe
begin atomic
  select length(p_text) between 1 and 128 and p_text !~ '[^!-~]';
end;
