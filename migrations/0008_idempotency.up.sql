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

-- The second wall between tenants, as for pets. Who clears away what has expired names an instant in place of a tenant,
-- and meets no other rows than those that expired before it.
alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy idempotency_keys_of_tenant on idempotency_keys
  using (tenant_id = nullif(current_setting('petstore.tenant_id', true), '')::bigint);
create policy idempotency_keys_expired on idempotency_keys
  using (expires_at <= nullif(current_setting('petstore.expired_at', true), '')::timestamptz)
  with check (false);

grant select, insert, update, delete on idempotency_keys to petstore_api;
