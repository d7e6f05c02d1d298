-- API keys and bans. Small tables: fit to be copied to every node.

create table api_keys (
  id           text primary key check (id ~ '^key_[0-9A-Za-z]{16}$'),
  tenant_id    bigint not null references tenants (id),
  name         text not null default '' check (char_length(name) <= 100),
  environment  text not null check (environment in ('live', 'test')),
  -- SHA-256 of the whole key. The key itself is stored nowhere.
  digest       bytea not null unique check (length(digest) = 32),
  last4        text not null check (length(last4) = 4),
  created_at   timestamptz not null,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  -- Written in batches, at most once a minute a key; no part of what servers hold, so it sends no notice.
  last_used_at timestamptz
);

create index api_keys_by_tenant on api_keys (tenant_id, id);

create table bans (
  tenant_id bigint not null references tenants (id),
  id        bigint generated always as identity,
  key_id    text not null references api_keys (id),
  source    text not null check (source in ('automatic', 'staff')),
  reason    text not null,
  starts_at timestamptz not null,
  ends_at   timestamptz not null,
  lifted_at timestamptz,
  primary key (tenant_id, id),
  check (ends_at > starts_at)
);

create index bans_by_key on bans (key_id, ends_at);

create function notify_key() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'key ' || encode(coalesce(new.digest, old.digest), 'hex'));
  return null;
end $$;

create trigger api_keys_notify
  after insert or update of digest, environment, expires_at, revoked_at, tenant_id or delete on api_keys
  for each row execute function notify_key();

create function notify_ban() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'key ' || encode(digest, 'hex'))
  from api_keys where id = coalesce(new.key_id, old.key_id);
  return null;
end $$;

create trigger bans_notify
  after insert or update or delete on bans
  for each row execute function notify_ban();

grant select on api_keys to petstore_api;
grant update (last_used_at) on api_keys to petstore_api;
grant select, insert on bans to petstore_api;
