-- A key's own limit, and what the platform lately refused.

-- Below the tenant's requests per minute it binds this one key; null for none.
alter table api_keys add column per_minute bigint check (per_minute > 0);

drop trigger api_keys_notify on api_keys;
create trigger api_keys_notify
  after insert or update of digest, environment, expires_at, revoked_at, tenant_id, per_minute or delete on api_keys
  for each row execute function notify_key();

-- For support: some of the requests that were refused in the last day. Bounded for each key: of a flood the first and the
-- last of each moment are kept, and of those the latest. usage_hourly has the numbers, of all.
create table refusals (
  tenant_id  bigint not null references tenants (id),
  -- Who refused it, and a number of its own: what is sent again after a lost reply is not added twice.
  server_id  text not null,
  number     bigint not null,
  key_id     text not null references api_keys (id),
  at         timestamptz not null,
  request_id text not null,
  code       text not null,
  plan       text not null,
  -- The limit that refused: minute, day or key, with its number; '' and 0 where none did.
  limited_by text not null,
  allowed    bigint not null,
  -- When a request passes again; null for never.
  resets_at  timestamptz,
  -- One of several servers decided alone, over its share of the limit.
  share      boolean not null,
  method     text not null,
  route      text not null,
  -- How many more requests of this key the server refused before this one, since the one kept before.
  skipped    bigint not null,
  primary key (tenant_id, server_id, number)
);

create index refusals_by_key on refusals (tenant_id, key_id, at);
-- Staff know a request, not its tenant; and what is old is removed whoever's it is.
create index refusals_by_request on refusals (request_id, tenant_id);
create index refusals_by_time on refusals (at, tenant_id);

-- update is what locking a row takes; none is ever changed.
grant select, insert, update (skipped), delete on refusals to petstore_api;
