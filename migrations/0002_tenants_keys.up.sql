create table tenants (
  id           bigint      generated always as identity primary key,
  name         text        not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$') unique,
  suspended_at timestamptz constraint tenants_suspended_at_finite check (isfinite(suspended_at)),
  created_at   timestamptz not null constraint tenants_created_at_finite check (isfinite(created_at)),
  billing_ref  text        check (billing_ref ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$'),
  email        text        check (email ~ '^[^@[:space:][:cntrl:]]+@[^@[:space:][:cntrl:]]+$' and length(email) <= 254),
  contact      text        check (contact <> '' and length(contact) <= 200),
  notes        text        check (notes <> '' and length(notes) <= 1000),
  erased_at    timestamptz,
  constraint tenants_erased check (erased_at is null or isfinite(erased_at) and suspended_at is not null and name = ('erased-' || id)
    and num_nonnulls(email, contact, notes) = 0),
  constraint tenants_reserved_name check (erased_at is not null or name !~ '^erased-[0-9]+$')
);
-- With text_pattern_ops an index serves the beginning of a text in any collation, and equality.
create index tenants_by_name on tenants (name text_pattern_ops);
create index tenants_by_email on tenants (lower(email) text_pattern_ops) where email is not null;
create index tenants_by_billing_ref on tenants (billing_ref text_pattern_ops) where billing_ref is not null;
create index tenants_suspended on tenants (name) where suspended_at is not null;

-- API keys and bans. These tables are small enough to be copied to every node.
create table api_keys (
  id                  text        primary key check (id ~ '^key_[0-9A-Za-z]{16}$'),
  tenant_id           bigint      not null references tenants(id),
  name                text        not null default '' check (char_length(name) <= 100),
  environment         text        not null check (environment in ('live', 'test')),
  -- SHA-256 of the whole key. The key itself is not stored.
  digest              bytea       not null check (length(digest) = 32) unique,
  last4               text        not null check (length(last4) = 4),
  created_at          timestamptz not null constraint api_keys_created_at_finite check (isfinite(created_at)),
  expires_at          timestamptz constraint api_keys_expires_at_finite check (isfinite(expires_at)),
  revoked_at          timestamptz constraint api_keys_revoked_at_finite check (isfinite(revoked_at)),
  -- Servers write it in batches, at most once a minute for a key. They do not cache it, so it sends no notification.
  last_used_at        timestamptz constraint api_keys_last_used_at_finite check (isfinite(last_used_at)),
  -- The key's own limit, below the tenant's; null for none.
  per_minute          bigint      check (per_minute > 0),
  revoked_by          text,
  revocation_final_at timestamptz check (isfinite(revocation_final_at))
);

-- The index of parts of texts needs this extension. An owner of the database may make it; it may already be in another schema. The indexes
-- are on the columns themselves: for a login that may not read the whole table, the planner ignores the statistics of an expression, and
-- could not tell a rare word from a frequent one. Support is such a login, because it may not read digests.
create extension if not exists pg_trgm;
do $$
declare
  gin text := (select format('gin (%%s %I.gin_trgm_ops)', n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm');
begin
  execute 'create index api_keys_name_part on api_keys using ' || format(gin, 'name');
  execute 'create index tenants_name_part on tenants using ' || format(gin, 'name');
  execute 'create index tenants_email_part on tenants using ' || format(gin, 'lower(email)');
  execute 'create index tenants_billing_ref_part on tenants using ' || format(gin, 'lower(billing_ref)');
end $$;
create index api_keys_by_tenant on api_keys (tenant_id, created_at desc, id);
-- A tenant may have many ended keys, and has few others.
create index api_keys_by_end on api_keys (tenant_id, revoked_at, expires_at);
create index api_keys_by_last4 on api_keys (last4, id);
create index api_keys_by_name on api_keys (lower(name) text_pattern_ops, id) where name <> '';
create index api_keys_by_expiry on api_keys (expires_at, id) where revoked_at is null;
create index api_keys_by_revocation on api_keys (revoked_at, id) where revoked_at is not null;

-- How long automatic bans last: 'earlier' is the number of the key's bans within 7 days. The last row also stands for more.
create table ban_lengths (
  earlier integer  primary key check (earlier >= 0),
  length  interval not null check (length >= '00:00:01')
);
insert into ban_lengths values (0, '15 minutes'), (1, '1 hour'), (2, '24 hours');

create table bans (
  tenant_id bigint      not null references tenants(id),
  id        bigint      not null generated always as identity,
  key_id    text        not null references api_keys(id),
  source    text        not null check (source in ('automatic', 'staff')),
  reason    text        not null,
  starts_at timestamptz not null constraint bans_starts_at_finite check (isfinite(starts_at)),
  ends_at   timestamptz not null constraint bans_ends_at_finite check (isfinite(ends_at)),
  lifted_at timestamptz constraint bans_lifted_at_finite check (isfinite(lifted_at)),
  constraint bans_pkey primary key (tenant_id, id),
  constraint bans_check check (ends_at > starts_at)
);
create index bans_by_key on bans (key_id, ends_at);
create index bans_by_number on bans (id);
create index bans_by_start on bans (starts_at, id);
create index bans_in_force on bans (ends_at) where lifted_at is null;
create index bans_by_end on bans (least(ends_at, lifted_at));

-- A trigger in the changing transaction itself notifies servers, which then drop what they cache. So no writer can forget to, not even a person in
-- psql.
create function notify_tenant() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'tenant ' || coalesce(new.id, old.id));
  return null;
end $$;
create trigger tenants_notify after update of suspended_at, name or delete on tenants for each row execute function notify_tenant();

create function notify_all() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'all');
  return null;
end $$;

-- Anybody who may connect receives notifications, so they hold only the first half of a digest.
create function notify_key() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'key ' || encode(substr(coalesce(new.digest, old.digest), 1, 16), 'hex'));
  return null;
end $$;
create trigger api_keys_notify
  after insert or update of digest, environment, expires_at, revoked_at, tenant_id, per_minute or delete on api_keys
  for each row execute function notify_key();

-- It has its owner's rights, because it reads the digest of the ban's key, which staff may not.
create function notify_ban() returns trigger language plpgsql security definer as $$
begin
  perform pg_notify('petstore_callers', 'key ' || encode(substr(digest, 1, 16), 'hex'))
  from api_keys where id = coalesce(new.key_id, old.key_id);
  return null;
end $$;
create trigger bans_notify after insert or update or delete on bans for each row execute function notify_ban();

-- 0020 has the rules of revocations.
create function check_revocation() returns trigger language plpgsql as $$
begin
  return new;
end $$;
create trigger api_keys_revocation before update of revoked_at, revoked_by, revocation_final_at on api_keys
  for each row execute function check_revocation();

-- find_key returns the ID of the key with the digest, null for none.
create function find_key(bytea) returns text language plpgsql stable security definer as $$
begin
  return (select k.id from api_keys k where k.digest = $1);
end $$;

-- find_caller returns the caller whose key has the digest, with its last-ending ban in force at the instant. It has a row for the tenant's state
-- at the instant, and one for each of up to four later periods. It finds only one key, so nobody can list other keys' digests. plpgsql keeps its
-- plans for the session.
create function find_caller(bytea, timestamptz)
returns table (
  id text, environment text, expires_at timestamptz, revoked boolean, revoked_at timestamptz, key_per_minute bigint,
  tenant_id bigint, tenant text, suspended_at timestamptz, created_at timestamptz,
  assignment bigint, version integer, plan text, per_minute bigint, per_day bigint, valid_from timestamptz, valid_to timestamptz,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz
) language plpgsql stable security definer as $$
begin
  return query
    select k.id, k.environment, k.expires_at, k.revoked_at is not null, k.revoked_at, coalesce(k.per_minute, 0),
           t.id, t.name, t.suspended_at, t.created_at,
           q.assignment, q.version, q.plan, q.per_minute, q.per_day, q.valid_from, q.valid_to,
           b.id, b.source, b.reason, b.starts_at, b.ends_at
    from api_keys k
    join tenants t on t.id = k.tenant_id
    cross join lateral (
      select * from quota_periods q
      where q.tenant_id = t.id and (q.valid_to is null or q.valid_to > $2)
        -- Assignments of the past are not read.
        and q.assigned_from >= coalesce(
          (select max(a.valid_from) from tenant_plans a where a.tenant_id = t.id and a.valid_from <= $2), '-infinity')
      order by q.valid_from limit 5
    ) q
    left join lateral (
      select b.id, b.source, b.reason, b.starts_at, b.ends_at from bans b
      where b.key_id = k.id and b.lifted_at is null and b.ends_at > $2
      order by b.ends_at desc limit 1
    ) b on true
    where k.digest = $1
    order by q.valid_from;
end $$;

-- next_ban_length returns how long an automatic ban placed on the key at the instant would last.
create function next_ban_length(key text, at timestamptz) returns interval language sql stable security definer as $$
  select l.length from ban_lengths l
  where l.earlier <= (
    select count(*) from bans b
    where b.key_id = key and b.source = 'automatic' and b.lifted_at is null and b.starts_at > at - interval '7 days'
  )
  order by l.earlier desc limit 1
$$;

-- place_automatic_ban bans a key for next_ban_length, and returns the ban in force: another server's ban if that was placed first. It
-- returns no row if the tenant has no such key.
create function place_automatic_ban(tenant bigint, key text)
returns table (
  id bigint, tenant_id bigint, tenant_name text, key_id text, source text, reason text, starts_at timestamptz, ends_at timestamptz
) language plpgsql security definer as $$
declare
  at  timestamptz;
  ban bans;
begin
  perform from api_keys k where k.id = key and k.tenant_id = tenant for no key update;
  if not found then
    return;
  end if;
  at := clock_timestamp();
  select b.* into ban from bans b
  where b.key_id = key and b.lifted_at is null and b.ends_at > at
  order by b.ends_at desc limit 1;
  if not found then
    insert into bans as b (tenant_id, key_id, source, reason, starts_at, ends_at)
    values (tenant, key, 'automatic', 'it went on sending requests after 429', date_trunc('second', at),
            date_trunc('second', at) + next_ban_length(key, at))
    returning b.* into ban;
    insert into audit_entries (claimed_actor, action, tenant_id, subject, after, reason)
    values ('petstore', 'ban.place', tenant, key, jsonb_build_object(
              'key_id', key, 'source', ban.source,
              'starts_at', to_char(ban.starts_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
              'ends_at', to_char(ban.ends_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
              'redacted', jsonb_build_array('reason')), ban.reason);
  end if;
  return query
    select ban.id, ban.tenant_id, t.name, ban.key_id, ban.source, ban.reason, ban.starts_at, ban.ends_at
    from tenants t where t.id = ban.tenant_id;
end $$;

grant select (id) on tenants to petstore_api;
grant select on tenants to petstore_billing;
grant insert (name, created_at, billing_ref, email, contact, notes), select, update (name, suspended_at, billing_ref, email, contact, notes) on
  tenants to petstore_support;
grant insert (id, tenant_id, name, environment, digest, last4, created_at, expires_at, per_minute), select (id, tenant_id, name, environment, last4,
  created_at, expires_at, revoked_at, last_used_at, per_minute, revoked_by, revocation_final_at), update (name, expires_at, revoked_at, per_minute)
  on api_keys to petstore_support;
grant insert (tenant_id, key_id, source, reason, starts_at, ends_at), select, update (lifted_at) on bans to petstore_support;
grant execute on function find_key to petstore_support;
grant execute on function find_caller, place_automatic_ban to petstore_api;
grant execute on function next_ban_length to petstore_api, petstore_support;
