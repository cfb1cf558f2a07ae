-- Messages that somebody has received and not yet deleted.
create or replace view trunkline.in_flight_messages as
select
  queue.account_id,
  queue.name as queue_name,
  message.message_id,
  message.received_at,
  message.visible_again_at,
  message.receive_count,
  message.first_received_at,
  message.sent_at,
  message.message_group_id,
  message.sequence_number
from trunkline.queues as queue
cross join lateral trunkline._report_in_flight(queue.id, statement_timestamp()) as message;

comment on view trunkline.in_flight_messages is
  'Messages that were received, and whose visibility timeout is not over, as of the start of the statement.';
comment on column trunkline.in_flight_messages.account_id is 'The account that the queue belongs to.';
comment on column trunkline.in_flight_messages.queue_name is 'The name of the queue.';
comment on column trunkline.in_flight_messages.message_id is 'The id that SendMessage answered.';
comment on column trunkline.in_flight_messages.received_at is 'When the message was last received.';
comment on column trunkline.in_flight_messages.visible_again_at is
  'When its visibility timeout ends. It can then be received again, in a FIFO queue by the order of its group.';
comment on column trunkline.in_flight_messages.receive_count is
  'How often the message was received, this time included.';
comment on column trunkline.in_flight_messages.first_received_at is 'When the message was first received.';
comment on column trunkline.in_flight_messages.sent_at is 'When the message was sent.';
comment on column trunkline.in_flight_messages.message_group_id is
  'The message group; null in a standard queue, unless the sender gave one.';
comment on column trunkline.in_flight_messages.sequence_number is
  'The SequenceNumber of a FIFO message; null in a standard queue.';
