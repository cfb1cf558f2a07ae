-- Functions on messages take the row of their queue, which their callers have, instead of looking it up again, and the ids
-- of the messages to send. What a function takes and answers is part of its name or its own for life, so the former ones go;
-- their successors are installed next.
drop function if exists trunkline._send_messages(
  bigint, text[], integer[], integer[], text[], text[], text[], text[], timestamptz
);
drop function if exists trunkline._send_fifo_messages(
  bigint, text[], integer[], text[], text[], text[], text[], text[], boolean, timestamptz
);
drop function if exists trunkline._receive_messages(bigint, integer, integer, integer, timestamptz);
drop function if exists trunkline._receive_fifo_messages(bigint, integer[], integer, integer, text, timestamptz, boolean);
drop function if exists trunkline._delete_messages(bigint, text[], boolean);
drop function if exists trunkline._delete_fifo_messages(bigint, text[], boolean, timestamptz);
drop function if exists trunkline._change_visibility(bigint, text[], integer[], timestamptz, boolean);
drop function if exists trunkline._change_fifo_visibility(bigint, text[], integer[], boolean, timestamptz);
drop function if exists trunkline._deduplicate(bigint, text[], text[], boolean, uuid[], bigint[], timestamptz);
drop function if exists trunkline._delete_by_handles(trunkline.queues, text[]);
drop function if exists trunkline._require_receipt_handles(text[]);
drop function if exists trunkline._in_flight_room(bigint, integer, trunkline.queue_progress, timestamptz);
