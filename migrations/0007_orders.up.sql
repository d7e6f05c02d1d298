-- Orders. Owned by tenants, like their animals.

create table orders (
  tenant_id  bigint not null,
  id         bigint generated always as identity,
  pet_id     bigint not null,
  quantity   integer not null check (quantity >= 1),
  status     text not null check (status in ('placed', 'approved', 'delivered', 'cancelled')),
  created_at timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, pet_id) references pets (tenant_id, id)
);

create index orders_by_status on orders (tenant_id, status, id);

-- An open order holds its animal: there is never a second one.
create unique index orders_holding_pet on orders (tenant_id, pet_id) where status in ('placed', 'approved');

-- Row-level security, as for pets.
alter table orders enable row level security;
alter table orders force row level security;
create policy orders_of_tenant on orders
  using (tenant_id = nullif(current_setting('petstore.tenant_id', true), '')::bigint);

grant select, insert, update (status) on orders to petstore_api;
