-- The first key of the advisory locks of buckets of message groups, which keeps them apart from others' locks.
create or replace function trunkline._message_group_bucket_space()
returns integer
language sql
immutable
parallel safe
return hashtext('trunkline message group buckets');
