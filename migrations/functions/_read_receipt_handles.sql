-- The message id and nonce of each receipt handle, in order; both null where a handle is not one that this
-- queue gave out. Becomes part of the statement that calls it, so it has no settings of its own.
create or replace function trunkline._read_receipt_handles(p_receipt_key bytea, p_handles text[])
returns table (entry bigint, id bigint, nonce uuid)
language sql
immutable
parallel safe
begin atomic
  select
    handle.entry,
    case when is_ours then ('x' || encode(substring(payload from 2 for 8), 'hex'))::bit(64)::bigint end,
    case when is_ours then encode(substring(payload from 10 for 16), 'hex')::uuid end
  from unnest(p_handles) with ordinality as handle (text, entry)
  -- `offset 0` keeps the planner from writing each of these out at every use: that made deleting a hundred
  -- messages take three times as long.
  cross join lateral (
    -- decode() raises on malformed base64, so only what has the right form reaches it.
    select case
      when length(handle.text) = 44 and handle.text ~ '^[A-Za-z0-9+/]+$' then decode(handle.text, 'base64')
    end as payload
    offset 0
  ) as decoded
  cross join lateral (
    select coalesce(
      substring(payload for 1) = E'\\x01'::bytea
        and substring(payload from 26) = substring(sha256(p_receipt_key || substring(payload from 2 for 24)) for 8),
      false
    ) as is_ours
    offset 0
  ) as verified
  order by handle.entry;
end;
