-- How many message groups a transaction locks one by one, because the shared lock table is small.
create or replace function trunkline._most_message_group_locks()
returns integer
language sql
immutable
parallel safe
return 128;
