-- What SQL users need beside the queues themselves.

set local lock_timeout = '10s';

-- The account and region of queues addressed by name alone. One row; a server writes its settings here.
create table trunkline.settings (
  is_only_row boolean primary key default true check (is_only_row),
  account_id text not null default '000000000000',
  region text not null default 'us-east-1'
);

insert into trunkline.settings default values;
