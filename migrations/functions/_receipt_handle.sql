-- The receipt handle of one receive: 33 bytes in base64, which makes 44 characters without padding.
--
--   1 byte   format version
--   8 bytes  message id
--   16 bytes nonce of the receive
--   8 bytes  signature with the queue's key
create or replace function trunkline._receipt_handle(p_receipt_key bytea, p_id bigint, p_nonce uuid)
returns text
language sql
immutable
strict
parallel safe
begin atomic
  select encode(
    E'\\x01'::bytea || int8send(p_id) || uuid_send(p_nonce)
      || substring(sha256(p_receipt_key || int8send(p_id) || uuid_send(p_nonce)) for 8),
    'base64'
  );
end;
