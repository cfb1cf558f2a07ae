-- The bucket of a message group's lock among the 64 of its queue, for advisory locks of two keys: the first is
-- _message_group_bucket_space().
create or replace function trunkline._message_group_bucket(p_queue_id bigint, p_key bigint)
returns integer
language sql
immutable
parallel safe
return hashint8(p_queue_id) # (p_key & 63)::integer;
