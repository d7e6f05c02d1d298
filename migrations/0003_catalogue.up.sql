lock table tenants in share row exclusive mode;
-- The checks are in domains, because Postgres parses a table's checks again for each statement, but not a domain's. That saves a fifth of
-- an update.
create domain pet_name as text check (char_length(value) between 1 and 255);
create domain pet_status as text check (value in ('available', 'pending', 'sold'));
create domain order_status as text check (value in ('placed', 'approved', 'delivered', 'cancelled'));

-- Tenants own the catalogue. Every key and index begins with the tenant, so that the tables can be distributed by tenant.
create table pets (
  tenant_id   bigint      not null references tenants(id),
  id          bigint      not null generated always as identity,
  name        pet_name    not null,
  category_id bigint      not null,
  status      pet_status  not null,
  created_at  timestamptz not null,
  constraint pets_pkey primary key (tenant_id, id)
);
create index pets_by_status on pets (tenant_id, status, id);
-- For lists of animals by category, in the order of IDs for each status.
create index pets_by_category on pets (tenant_id, category_id, status, id);
-- For lists of animals by the beginning of their name. "C" is the order of code points, in which all names with the same beginning are
-- adjacent.
create index pets_by_name on pets (tenant_id, name collate "C", id);
alter table pets enable row level security, force row level security;
create policy pets_of_tenant on pets using (tenant_id = nullif(current_setting('petstore.tenant_id', true), '')::bigint);

-- Orders belong to tenants, like their animals.
create table orders (
  tenant_id  bigint       not null,
  id         bigint       not null generated always as identity,
  pet_id     bigint       not null,
  quantity   integer      not null check (quantity >= 1),
  status     order_status not null,
  created_at timestamptz  not null,
  constraint orders_pkey primary key (tenant_id, id),
  constraint orders_tenant_id_pet_id_fkey foreign key (tenant_id, pet_id) references pets(tenant_id, id)
);
create index orders_by_status on orders (tenant_id, status, id);
-- An open order holds its animal: there is never a second one.
create unique index orders_holding_pet on orders (tenant_id, pet_id) where status in ('placed', 'approved');
-- When an animal is removed, Postgres looks for its orders.
create index orders_by_pet on orders (tenant_id, pet_id);
alter table orders enable row level security, force row level security;
create policy orders_of_tenant on orders using (tenant_id = nullif(current_setting('petstore.tenant_id', true), '')::bigint);

-- The answers to requests with an idempotency key, to be given again. A row is written in the transaction of its work, so neither exists
-- without the other.
create table idempotency_keys (
  tenant_id   bigint      not null references tenants(id),
  method      text        not null,
  path        text        not null,
  key         text        not null check (char_length(key) between 1 and 255),
  -- SHA-256 of the request's body in its canonical form.
  fingerprint bytea       not null check (length(fingerprint) = 32),
  status      smallint    not null,
  location    text        not null,
  body        bytea       not null,
  created_at  timestamptz not null,
  expires_at  timestamptz not null,
  constraint idempotency_keys_pkey primary key (tenant_id, method, path, key)
);
-- The check prevents that somebody with the API's login stores a response for ever. The second day is for clocks that step. A restored dump
-- is not checked.
alter table idempotency_keys add constraint idempotency_keys_expiry check (expires_at < now() + interval '2 days') not valid;
-- Only the removal of expired answers may use this index, so only that statement has its condition, which is always true. Without a
-- condition the index would also fit the look-up of a key. If a tenant had no keys when the table was last analysed, Postgres might then
-- read all of the tenant's keys to find one.
create index idempotency_keys_expired on idempotency_keys (tenant_id, expires_at) where expires_at > '-infinity';
alter table idempotency_keys enable row level security, force row level security;
create policy idempotency_keys_of_tenant on idempotency_keys using (tenant_id = nullif(current_setting('petstore.tenant_id', true), '')::bigint);

-- A customer's write that was answered with 503 must not happen later: its bytes may arrive late, or it may wait for a lock. So each such
-- statement sets petstore.deadline for its transaction, in Unix seconds by this database's clock, and a later commit is refused. A
-- statement alone cannot ensure that: a condition is evaluated before the wait for a lock, statement_timeout ends with the statement, and
-- COMMIT has no condition. Staff's writes have no deadline and are not refused.
create function refuse_late_write() returns trigger language plpgsql as $$
begin
  if date_part('epoch', clock_timestamp()) >= nullif(current_setting('petstore.deadline', true), '')::float8 then
    raise exception 'the write came too late' using errcode = 'query_canceled';
  end if;
  return null;
end $$;
-- Postgres reads the condition when the row is written, so the statement that inserts the row sets the deadline, never a later one. The
-- condition costs more than the check, so updates have none.
create constraint trigger pets_refuse_late_insert after insert on pets deferrable initially deferred
  for each row when (current_setting('petstore.deadline', true) <> '') execute function refuse_late_write();
create constraint trigger pets_refuse_late_update after update on pets deferrable initially deferred
  for each row execute function refuse_late_write();
-- An order is placed with an update of its animal. The answer to its idempotency key is stored with either.
create constraint trigger orders_refuse_late_update after update on orders deferrable initially deferred
  for each row execute function refuse_late_write();

-- prune_idempotency_keys removes expired answers, up to the given number, of the 1,000 tenants after the given one. It returns the number of removed
-- answers, and the last tenant that it looked at, null for none.
create function prune_idempotency_keys(at timestamptz, after bigint, most integer, out last bigint, out removed integer)
language plpgsql security definer as $$
declare
  n integer;
begin
  at := least(at, now());
  removed := 0;
  for last in select id from tenants where id > after order by id limit 1000 loop
    perform set_config('petstore.tenant_id', last::text, true);
    -- Rows that a request is writing over, or that another server is removing, are left alone.
    with expired as materialized (
      select method, path, key from idempotency_keys
      where tenant_id = last and expires_at <= at and expires_at > '-infinity'
      order by expires_at limit most - removed
      for update skip locked
    )
    delete from idempotency_keys k using expired e
    where k.tenant_id = last and k.method = e.method and k.path = e.path and k.key = e.key;
    get diagnostics n = row_count;
    removed := removed + n;
    exit when removed >= most;
  end loop;
  perform set_config('petstore.tenant_id', '', true);
end $$;

grant insert (tenant_id, name, category_id, status, created_at), select, update (name, category_id, status) on pets to petstore_api;
grant insert (tenant_id, pet_id, quantity, status, created_at), select, update (status) on orders to petstore_api;
grant insert, select, update (fingerprint, status, location, body, created_at, expires_at) on idempotency_keys to petstore_api;
grant execute on function prune_idempotency_keys to petstore_api;
