-- What a message is at a time: visible, in_flight or delayed.
create or replace function trunkline._message_state(p_message trunkline.messages, p_now timestamptz)
returns text
language sql
immutable
parallel safe
begin atomic
  select case
    when (p_message).visible_at <= p_now then 'visible'
    when (p_message).receive_count > 0 then 'in_flight'
    else 'delayed'
  end;
end;
