-- What SQL users need beside the queues themselves.

set local lock_timeout = '10s';

-- What SQL users do not say in each call: the account and region of queues addressed by name alone, and how
-- many messages may be in flight. One row; a server writes its settings here.
create table trunkline.settings (
  is_only_row boolean primary key default true check (is_only_row),
  account_id text not null default '000000000000',
  region text not null default 'us-east-1',
  in_flight_limit_standard integer not null default 120000,
  in_flight_limit_fifo integer not null default 20000
);

insert into trunkline.settings default values;
