-- Queues, their messages, and the small tables that keep counting and receiving cheap.
--
-- Every table on the hot path leads its key with queue_id, and there are no foreign keys or triggers
-- there: a send, receive or delete touches rows of one queue only, and checks nothing elsewhere.

set local lock_timeout = '10s';

comment on schema trunkline is
  'Trunkline: Amazon SQS on PostgreSQL. Names that start with an underscore are private.';

create sequence trunkline.queue_ids;

-- One sequence for all queues: a message keeps its id when it moves to a dead-letter queue.
create sequence trunkline.message_ids;

create sequence trunkline.count_delta_ids;

-- The identity of a queue is (account_id, name). Its id names the present contents: purging a queue gives
-- it a new id and leaves the old one to the janitor, so a purge costs the same for any number of messages.
create table trunkline.queues (
  id bigint primary key default nextval('trunkline.queue_ids'),
  account_id text not null,
  name text not null,
  is_fifo boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  modified_at timestamptz not null default clock_timestamp(),
  purged_at timestamptz,
  visibility_timeout_seconds integer not null default 30,
  delay_seconds integer not null default 0,
  maximum_message_size_bytes integer not null default 1048576,
  message_retention_seconds integer not null default 345600,
  receive_wait_seconds integer not null default 0,
  content_based_deduplication boolean not null default false,
  deduplication_scope text not null default 'queue',
  fifo_throughput_limit text not null default 'perQueue',
  policy text,
  dead_letter_target_arn text,
  max_receive_count integer,
  redrive_allow_policy text,
  kms_master_key_id text,
  kms_data_key_reuse_seconds integer,
  is_sse_managed boolean not null default true,
  tags jsonb not null default '{}',
  -- Signs receipt handles, so that a handle cannot be made up or carried over to another queue.
  receipt_key bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
  constraint queues_account_id_name_key unique (account_id, name)
);

-- What is left of purged and deleted queues. The janitor removes the messages in batches, then the row.
create table trunkline.discarded_queues (
  queue_id bigint primary key,
  account_id text not null,
  name text not null,
  is_deleted boolean not null,
  discarded_at timestamptz not null
);

-- visible_at alone decides who may receive a message: in the future it is delayed (never received) or in
-- flight (received), in the past it is visible. Retention is the queue's and counts from sent_at.
create table trunkline.messages (
  queue_id bigint not null,
  id bigint not null,
  visible_at timestamptz not null,
  sent_at timestamptz not null,
  received_at timestamptz,
  first_received_at timestamptz,
  receive_count integer not null default 0,
  receipt_nonce uuid,
  message_id uuid not null,
  sender_id text not null,
  group_id text collate "C",
  deduplication_id text collate "C",
  trace_header text,
  dead_letter_source_arn text,
  attributes jsonb,
  body text not null,
  primary key (queue_id, id)
) with (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);

-- Serves the claim of a receive, the count of hidden messages, and the look-out of waiting polls. It holds all
-- messages; its condition keeps it from those who look for ids. A queue is often empty when statistics are
-- taken, and a planner that believes it so would then read the whole of it for one id.
create index messages_visible_at_idx on trunkline.messages (queue_id, visible_at)
  where visible_at > '-infinity';

-- Stored messages per queue: folded totals plus deltas not folded yet. A counter row updated by every send
-- would serialise the sends of a queue; an appended delta does not.
create table trunkline.count_deltas (
  queue_id bigint not null,
  id bigint not null default nextval('trunkline.count_delta_ids'),
  added bigint not null,
  removed bigint not null,
  primary key (queue_id, id)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);

-- Serves folding, which takes the deltas of all queues up to a point.
create index count_deltas_id_idx on trunkline.count_deltas (id);

create table trunkline.queue_progress (
  queue_id bigint primary key,
  -- Messages added and removed by all deltas up to folded_through.
  added bigint not null default 0,
  removed bigint not null default 0,
  folded_through bigint not null default 0,
  -- No message of the queue has, or can still get, a visible_at before this: receiving starts here
  -- instead of at index entries whose messages are gone but pinned by an old snapshot.
  visible_from timestamptz not null default '-infinity',
  in_flight_sample bigint,
  sampled_at timestamptz
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0
);

-- One row: the last point before which every writing transaction has ended, and the next candidate.
create table trunkline.settlement (
  is_only_row boolean primary key default true check (is_only_row),
  settled_at timestamptz not null default '-infinity',
  settled_delta_id bigint not null default 0,
  candidate_at timestamptz not null default '-infinity',
  candidate_delta_id bigint not null default 0,
  candidate_xid xid8 not null default '0'
) with (
  fillfactor = 20,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0
);

insert into trunkline.settlement default values;

-- Which text of each file in migrations/functions is installed, and by which version of Trunkline.
create table trunkline.installed_functions (
  name text primary key,
  checksum text not null,
  installed_by text not null,
  installed_at timestamptz not null default clock_timestamp()
);
