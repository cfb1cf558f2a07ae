-- Message groups that cost the same under an old snapshot.
--
-- Such a snapshot keeps every version of a row, and whoever looks for the row by a key that all versions share
-- passes them all, as does the check that a key is unique. So a group's key is in a row that never changes, and
-- the versions of the row that does change are told apart by when they were made: looked for from the latest on,
-- the first is the right one.

set local lock_timeout = '10s';

-- One row for each row of message_groups. Its primary key is what keeps a group from getting a second row there.
create table trunkline.message_group_names (
  queue_id bigint not null,
  group_id text collate "C" not null,
  primary key (queue_id, group_id)
) with (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

alter table trunkline.message_groups
  drop constraint message_groups_pkey,
  add column changed_at timestamptz not null default clock_timestamp(),
  -- Only of a drained group: whether it was drained under its send lock, so that no send can have been under way.
  -- It then stays for a while, to be taken into use again.
  add column is_empty boolean not null default false,
  add constraint message_groups_pkey primary key (queue_id, group_id, changed_at);

insert into trunkline.message_group_names (queue_id, group_id)
select known.queue_id, known.group_id from trunkline.message_groups as known;

drop index trunkline.message_groups_drained_at_idx;

-- Serves the look at drained groups that may have messages after all, which are few, and the removal of the others.
create index message_groups_drained_at_idx on trunkline.message_groups (queue_id, is_empty, drained_at)
  where drained_at is not null;

-- No group was drained, or can still be, before this, but for empty ones: the look at drained groups starts here.
alter table trunkline.queue_progress add column drained_from timestamptz not null default '-infinity';

-- No deduplication id expires, or can still get to expire, before this: their removal starts here.
alter table trunkline.queue_progress add column expires_from timestamptz not null default '-infinity';

drop function if exists trunkline._refresh_message_groups(trunkline.queues, trunkline.locked_group[], timestamptz);
drop function if exists trunkline._low_water_mark(bigint, timestamptz, timestamptz);
drop function if exists trunkline._remove_drained_groups(bigint, text[]);
drop function if exists trunkline._receive_fifo_messages(bigint, integer, integer, integer, text, timestamptz, boolean);
