-- Message groups, deduplication and receive attempts of FIFO queues.

set local lock_timeout = '10s';

-- A FIFO message always has a deduplication id and a standard one never, so this index holds FIFO messages
-- only. Serves walking a group from its head.
create index messages_group_idx on trunkline.messages (queue_id, group_id, id)
  where deduplication_id is not null;

-- One row per live group of a FIFO queue, so that receiving looks at groups and not at messages: a group
-- with a million messages behind one in flight costs nothing.
create table trunkline.message_groups (
  queue_id bigint not null,
  group_id text collate "C" not null,
  -- No message of the group has a smaller id. Walks start here, not at entries of deleted messages.
  head_id bigint not null,
  -- When the group can be received from: as soon as its head is visible.
  visible_at timestamptz not null,
  -- Set while no message is in sight. A send that has not committed yet may be about to add one, so the row
  -- goes only once the group's lock is free.
  drained_at timestamptz,
  primary key (queue_id, group_id)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- A row of message_groups that a statement has locked, with its place in the table. Later statements go there by
-- it: under an old snapshot a look-up by key passes every earlier version of the row.
create type trunkline.locked_group as (group_id text, head_id bigint, place tid);

-- Serves the choice of groups by a receive.
create index message_groups_visible_at_idx on trunkline.message_groups (queue_id, visible_at)
  where drained_at is null;

-- Serves the look at drained groups, which are few.
create index message_groups_drained_at_idx on trunkline.message_groups (queue_id, drained_at)
  where drained_at is not null;

-- Deduplication ids of the last five minutes. They outlive their messages.
create table trunkline.deduplications (
  queue_id bigint not null,
  deduplication_id text collate "C" not null,
  -- The message group, or empty where the id counts for the whole queue.
  scope text collate "C" not null,
  message_id uuid not null,
  -- The message's id, which is its sequence number.
  id bigint not null,
  expires_at timestamptz not null,
  primary key (queue_id, deduplication_id, scope)
) with (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- Serves the janitor.
create index deduplications_expires_at_idx on trunkline.deduplications (queue_id, expires_at)
  where expires_at > '-infinity';

-- What receives with a ReceiveRequestAttemptId returned in the last five minutes.
create table trunkline.receive_attempts (
  queue_id bigint not null,
  attempt_id text collate "C" not null,
  message_ids bigint[] not null,
  receipt_nonces uuid[] not null,
  -- As the receive left it. A message with another value was changed since.
  visible_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (queue_id, attempt_id)
);

create index receive_attempts_expires_at_idx on trunkline.receive_attempts (queue_id, expires_at)
  where expires_at > '-infinity';
