-- Whether a text has characters that a message may not hold. Those that PostgreSQL's own text cannot hold,
-- which are zero and surrogates, need no look.
create or replace function trunkline._has_forbidden_characters(p_text text)
returns boolean
language sql
immutable
strict
parallel safe
begin atomic
  select p_text ~ E'[\\u0001-\\u0008\\u000b\\u000c\\u000e-\\u001f\\ufffe\\uffff]';
end;
