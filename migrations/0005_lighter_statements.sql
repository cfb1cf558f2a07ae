-- Functions that answer one outcome per receipt handle answer an array, which costs a fraction of a set of
-- rows. A function keeps its return type for life, so the former ones go; their successors are installed next.
drop function if exists trunkline._delete_by_handles(trunkline.queues, text[]);
drop function if exists trunkline._delete_messages(bigint, text[], boolean);
drop function if exists trunkline._delete_fifo_messages(bigint, text[], boolean, timestamptz);
drop function if exists trunkline._change_visibility(bigint, text[], integer[], timestamptz, boolean);
drop function if exists trunkline._change_fifo_visibility(bigint, text[], integer[], boolean, timestamptz);

-- Messages hidden when the sample was taken, in flight and delayed: what it took to count them.
alter table trunkline.queue_progress add column hidden_sample bigint;
