-- Deletes and changes of visibility by the server wait for nobody: functions whose arguments change for that.

set local lock_timeout = '10s';

drop function if exists trunkline._lock_groups_of_messages(bigint, bigint[]);
drop function if exists trunkline._lock_messages(bigint, bigint[], uuid[], timestamptz);
