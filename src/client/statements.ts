/**
 * What the library says to the database: calls of the public functions only. Every parameter is a text,
 * lists travel as JSON, and every statement answers rows with one text column `result` in JSON.
 */
export const statements = {
  sendMessages: `
select to_json(sent)::text as result
from (
  select
    array_agg(entry.body order by entry.position) as bodies,
    array_agg(make_interval(secs => entry.delay_seconds) order by entry.position) as delays,
    array_agg(entry.attributes order by entry.position) as attributes,
    array_agg(entry.group_id order by entry.position) as group_ids,
    array_agg(entry.deduplication_id order by entry.position) as deduplication_ids,
    array_agg(entry.trace_header order by entry.position) as trace_headers
  from rows from (
    json_to_recordset($2::text::json) as (
      body text, delay_seconds double precision, attributes jsonb, group_id text,
      deduplication_id text, trace_header text
    )
  ) with ordinality as entry (
    body, delay_seconds, attributes, group_id, deduplication_id, trace_header, position
  )
) as given
cross join lateral trunkline.send_message_batch(
  queue_name => $1::text,
  message_bodies => given.bodies,
  delays => given.delays,
  message_attributes => given.attributes,
  message_group_ids => given.group_ids,
  message_deduplication_ids => given.deduplication_ids,
  trace_headers => given.trace_headers
) as sent
order by sent.entry`,

  receiveMessages: `
select to_json(received)::text as result
from trunkline.receive_message(
  queue_name => $1::text,
  max_number_of_messages => $2::text::integer,
  visibility_timeout => make_interval(secs => $3::text::double precision),
  receive_request_attempt_id => $4::text
) as received`,

  deleteMessages: `
select 'true' as result
from trunkline.delete_message_batch(
  queue_name => $1::text,
  receipt_handles => array(select json_array_elements_text($2::text::json))
)`,

  deleteMessagesOrIgnore: `
select deleted.is_deleted::text as result
from unnest(
  trunkline.delete_message_batch_or_ignore(
    queue_name => $1::text,
    receipt_handles => array(select json_array_elements_text($2::text::json))
  )
) with ordinality as deleted (is_deleted, position)
order by deleted.position`,

  changeVisibility: `
select 'true' as result
from (
  select
    array_agg(entry.handle order by entry.position) as handles,
    array_agg(make_interval(secs => entry.seconds) order by entry.position) as timeouts
  from rows from (
    json_to_recordset($2::text::json) as (handle text, seconds double precision)
  ) with ordinality as entry (handle, seconds, position)
) as given
cross join lateral trunkline.change_message_visibility_batch(
  queue_name => $1::text,
  receipt_handles => given.handles,
  visibility_timeouts => given.timeouts
)`,

  proveNotAborted: `select 'true' as result`,

  createQueue: `
select trunkline.create_queue(
  queue_name => $1::text, attributes => $2::text::jsonb, tags => $3::text::jsonb
)::text as result`,

  deleteQueue: `select 'true' as result from trunkline.delete_queue(queue_name => $1::text)`,

  purgeQueue: `select 'true' as result from trunkline.purge_queue(queue_name => $1::text)`,

  listQueues: `
select to_json(name)::text as result
from trunkline.list_queues(queue_name_prefix => $1::text) as name`,

  getQueueAttributes: `
select trunkline.get_queue_attributes(queue_name => $1::text)::text as result`,

  setQueueAttributes: `
select 'true' as result
from trunkline.set_queue_attributes(queue_name => $1::text, attributes => $2::text::jsonb)`,
} as const;
