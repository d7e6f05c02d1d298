lock table api_keys in access exclusive mode;
-- The scope of a key, and the addresses from which it may be used; an empty array for any. The table is read once, under a lock: 0.2 s for a million
-- keys.
alter table api_keys
  add column scope   text   not null default 'write' constraint api_keys_scope check (scope in ('read', 'write')),
  add column allowed cidr[] not null default '{}' constraint api_keys_allowed check (cardinality(allowed) <= 20);
create index api_keys_narrow on api_keys (scope, id) where scope <> 'write';

drop trigger api_keys_notify on api_keys;
create trigger api_keys_notify
  after insert or update of digest, environment, expires_at, revoked_at, tenant_id, per_minute, scope, allowed or delete on api_keys
  for each row execute function notify_key();

-- caller_of_key is find_caller with the key's scope and addresses.
create function caller_of_key(bytea, timestamptz)
returns table (
  id text, environment text, expires_at timestamptz, revoked boolean, revoked_at timestamptz, key_per_minute bigint, scope text, allowed text,
  tenant_id bigint, tenant text, suspended_at timestamptz, created_at timestamptz,
  assignment bigint, version integer, plan text, per_minute bigint, per_day bigint, valid_from timestamptz, valid_to timestamptz,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz
) language plpgsql stable security definer as $$
begin
  return query
    select k.id, k.environment, k.expires_at, k.revoked_at is not null, k.revoked_at, coalesce(k.per_minute, 0),
           k.scope, array_to_string(k.allowed, ','),
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

-- Servers of the last release know neither scopes nor addresses. They do not find a restricted key, because they would let it do more than
-- it may.
create or replace function find_caller(bytea, timestamptz)
returns table (
  id text, environment text, expires_at timestamptz, revoked boolean, revoked_at timestamptz, key_per_minute bigint,
  tenant_id bigint, tenant text, suspended_at timestamptz, created_at timestamptz,
  assignment bigint, version integer, plan text, per_minute bigint, per_day bigint, valid_from timestamptz, valid_to timestamptz,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz
) language plpgsql stable security definer as $$
begin
  return query
    select c.id, c.environment, c.expires_at, c.revoked, c.revoked_at, c.key_per_minute, c.tenant_id, c.tenant, c.suspended_at, c.created_at,
           c.assignment, c.version, c.plan, c.per_minute, c.per_day, c.valid_from, c.valid_to,
           c.ban_id, c.ban_source, c.ban_reason, c.ban_starts_at, c.ban_ends_at
    from caller_of_key($1, $2) c where c.scope = 'write' and c.allowed = '';
end $$;

do $$
declare
  f regprocedure;
begin
  foreach f in array array['caller_of_key'::regproc, 'find_caller'::regproc] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

grant insert (scope, allowed), select (scope, allowed), update (scope, allowed) on api_keys to petstore_support;
grant execute on function caller_of_key to petstore_api;
