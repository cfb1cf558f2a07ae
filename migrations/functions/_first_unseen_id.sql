-- From which id on a message may come after one of its group that this transaction does not see.
--
-- Within a message group ids are in the order of commits, so a snapshot has a group's messages from the first to some
-- message, and none after. But what a transaction has sent itself under a snapshot taken before, which is how it is under
-- repeatable read, may come after messages that it does not see. _send_fifo_messages notes the first of those.
create or replace function trunkline._first_unseen_id()
returns bigint
language sql
stable
begin atomic
  select coalesce(nullif(current_setting('trunkline.first_sent_id', true), '')::bigint, 9223372036854775807);
end;
