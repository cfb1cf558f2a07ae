-- The SequenceNumber of a FIFO message, from its id: always 20 digits, so that they sort alike as numbers and
-- as texts.
create or replace function trunkline._sequence_number(p_id bigint)
returns text
language sql
immutable
strict
parallel safe
begin atomic
  select (10000000000000000000 + p_id)::text;
end;
