create table if not exists orders (
  id bigint generated always as identity primary key,
  customer text not null,
  placed_at timestamptz not null default now()
);

create table if not exists order_lines (
  order_id bigint not null references orders,
  article text not null,
  quantity integer not null check (quantity > 0)
);
