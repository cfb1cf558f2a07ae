-- As _send_fifo_messages, for messages some of which it has to refuse: those that are too long and those without a
-- deduplication id. Stores the others.
create or replace function trunkline._send_acceptable_fifo_messages(
  p_queue trunkline.queues,
  p_message_ids uuid[],
  p_bodies text[],
  p_sizes_bytes integer[],
  p_attributes text[],
  p_trace_headers text[],
  p_group_ids text[],
  p_deduplication_ids text[],
  p_sender_ids text[],
  p_may_wait boolean,
  p_now timestamptz
)
returns table (message_id uuid, sequence_number bigint, refusal text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_refusals text[];
begin
  v_refusals := array(
    select case
      when given.size_bytes > (p_queue).maximum_message_size_bytes then 'too_long'
      when given.deduplication_id is null then 'no_deduplication_id'
    end
    from unnest(p_sizes_bytes, p_deduplication_ids) with ordinality as given (size_bytes, deduplication_id, position)
    order by given.position
  );
  return query
  with given as materialized (
    select *
    from unnest(
      v_refusals, p_message_ids, p_bodies, p_sizes_bytes, p_attributes, p_trace_headers, p_group_ids, p_deduplication_ids,
      p_sender_ids
    ) with ordinality as given (
      refusal, message_id, body, size_bytes, attributes, trace_header, group_id, deduplication_id, sender_id, position
    )
  ),
  sent as (
    select sent.message_id, sent.sequence_number, acceptable.positions[sent.place] as position
    from (
      select
        array_agg(given.position order by given.position) as positions,
        array_agg(given.message_id order by given.position) as message_ids,
        array_agg(given.body order by given.position) as bodies,
        array_agg(given.size_bytes order by given.position) as sizes_bytes,
        array_agg(given.attributes order by given.position) as attributes,
        array_agg(given.trace_header order by given.position) as trace_headers,
        array_agg(given.group_id order by given.position) as group_ids,
        array_agg(given.deduplication_id order by given.position) as deduplication_ids,
        array_agg(given.sender_id order by given.position) as sender_ids
      from given
      where given.refusal is null
      having count(*) > 0
    ) as acceptable
    cross join lateral trunkline._send_fifo_messages(
      p_queue, acceptable.message_ids, acceptable.bodies, acceptable.sizes_bytes, acceptable.attributes,
      acceptable.trace_headers, acceptable.group_ids, acceptable.deduplication_ids, acceptable.sender_ids, p_may_wait, p_now
    ) with ordinality as sent (message_id, sequence_number, refusal, place)
  )
  select sent.message_id, sent.sequence_number, given.refusal
  from given
  left join sent using (position)
  order by given.position;
end
$$;
