-- Deletes and changes of visibility by the server wait for nobody, and the look into drained groups begins with the last.
-- The functions for that have other arguments or another name, so the former ones go.

set local lock_timeout = '10s';

drop function if exists trunkline._lock_groups_of_messages(bigint, bigint[]);
drop function if exists trunkline._lock_messages(bigint, bigint[], uuid[], timestamptz);
drop function if exists trunkline._longest_drained_groups(bigint, integer);
