-- The answers to requests that carried an idempotency key, kept to be given again. A row is written in the transaction of
-- what it answers for, so there is none for work that is not done, and no work without it.

create table idempotency_keys (
  tenant_id   bigint not null references tenants (id),
  method      text not null,
  path        text not null,
  key         text not null check (char_length(key) between 1 and 255),
  -- SHA-256 of the request's body in its canonical form.
  fingerprint bytea not null check (length(fingerprint) = 32),
  status      smallint not null,
  location    text not null,
  body        bytea not null,
  created_at  timestamptz not null,
  expires_at  timestamptz not null,
  primary key (tenant_id, method, path, key)
);

create index idempotency_keys_by_expiry on idempotency_keys (tenant_id, expires_at);

-- Row-level security, as for pets.
alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy idempotency_keys_of_tenant on idempotency_keys
  using (tenant_id = nullif(current_setting('petstore.tenant_id', true), '')::bigint);

-- Removes rows that have expired at an instant, at most so many, of up to 1000 tenants whose ids follow the given one. It sets
-- one tenant after the other, because row-level security shows one at a time. It returns the last of them, null for none.
create function prune_idempotency_keys(at timestamptz, after bigint, most integer, out last bigint, out removed integer)
language plpgsql as $$
declare
  n integer;
begin
  removed := 0;
  for last in select id from tenants where id > after order by id limit 1000 loop
    perform set_config('petstore.tenant_id', last::text, true);
    -- Rows that a request is writing over, or that another server is removing, are left alone.
    with expired as materialized (
      select method, path, key from idempotency_keys
      where tenant_id = last and expires_at <= at
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

grant select, insert, update, delete on idempotency_keys to petstore_api;
