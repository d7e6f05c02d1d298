-- The catalogue. Owned by tenants: every key and index begins with the tenant, ready to be distributed by it.

create table pets (
  tenant_id   bigint not null references tenants (id),
  id          bigint generated always as identity,
  name        text not null check (char_length(name) between 1 and 255),
  category_id bigint not null,
  status      text not null check (status in ('available', 'pending', 'sold')),
  created_at  timestamptz not null,
  primary key (tenant_id, id)
);

create index pets_by_status on pets (tenant_id, status, id);

-- Row-level security: without petstore.tenant_id, or for another tenant than that, no row can be read or written.
-- After a first local set the value is '', hence nullif.
alter table pets enable row level security;
alter table pets force row level security;
create policy pets_of_tenant on pets
  using (tenant_id = nullif(current_setting('petstore.tenant_id', true), '')::bigint);

grant select, insert, update on pets to petstore_api;
