create table if not exists accounts (
  name text primary key,
  balance bigint not null default 0
);

create table if not exists bookings (
  message_id uuid not null,
  account text not null references accounts,
  amount bigint not null
);
