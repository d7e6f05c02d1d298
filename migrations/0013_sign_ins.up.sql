lock table tenants, api_keys in share row exclusive mode;
-- Sign-ins of customers on the page /account, and the links with which staff invite them. Only functions read and write them, by the digest of 256
-- random bits in a cookie or a link. A sign-in ends after 12 hours, or 2 hours after its last use.
create table sign_ins (
  id          uuid        primary key default gen_random_uuid(),
  digest      bytea       not null unique check (octet_length(digest) = 32),
  tenant_id   bigint      not null references tenants (id),
  key_id      text, -- null for an invitation
  invited_by  text, -- the login that made the invitation, null for a key
  environment text        not null check (environment in ('live', 'test')), -- the environment of the key, and of keys that may be issued
  created_at  timestamptz not null default now(),
  used_at     timestamptz not null default now(),
  expires_at  timestamptz not null default now() + interval '12 hours',
  constraint sign_ins_by_one check (num_nonnulls(key_id, invited_by) = 1)
);
create index sign_ins_tenant on sign_ins (tenant_id);
create index sign_ins_key on sign_ins (key_id) where key_id is not null;
create index sign_ins_expire on sign_ins (expires_at);

create table invites (
  digest      bytea       primary key check (octet_length(digest) = 32),
  tenant_id   bigint      not null references tenants (id),
  environment text        not null check (environment in ('live', 'test')),
  invited_by  text        not null default session_user,
  created_at  timestamptz not null default now(),
  expires_at  timestamptz not null default now() + interval '15 minutes'
);
create index invites_tenant on invites (tenant_id);
create index invites_expire on invites (expires_at);

-- invite_tenant stores the digest of a link and writes the entry. No login can invite without an entry, and changes by such a sign-in name the
-- login too.
create function invite_tenant(link bytea, tenant bigint, env text, actor text, reason text) returns void language sql security definer as $$
  insert into invites (digest, tenant_id, environment) values ($1, $2, $3);
  insert into audit_entries (claimed_actor, action, tenant_id, subject, reason) values ($4, 'tenant.invite', $2, 'tenant:' || $2, $5)
$$;

-- live_sign_in returns the sign-in with the digest while it is valid; its key and its tenant must be valid too.
create function live_sign_in(of bytea) returns setof sign_ins language sql stable security definer as $$
  select s.* from sign_ins s
  where s.digest = $1 and s.expires_at > now() and s.used_at > now() - interval '2 hours'
    and exists (select from tenants t where t.id = s.tenant_id and t.suspended_at is null)
    and (s.key_id is null or exists (
      select from api_keys k where k.id = s.key_id and k.scope = 'manage' and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())))
$$;

-- open_sign_in opens a sign-in with the digest session. by is the digest of an invitation, which is used up, or of a manage key. It returns false and
-- changes nothing if there is none for that environment ('any' for both), if the key may not be used from the client's address, or if the tenant is
-- suspended. If the environment has more than 20 sign-ins, the least recently used one ends.
create function open_sign_in(by bytea, session bytea, client inet, accepted text) returns boolean language plpgsql security definer as $$
declare
  tenant bigint;
  env    text;
  key    text;
  staff  text;
begin
  select i.tenant_id, i.environment, i.invited_by into tenant, env, staff from invites i
  where i.digest = $1 and i.expires_at > now() and accepted in (i.environment, 'any');
  if tenant is null then
    select k.tenant_id, k.environment, k.id into tenant, env, key from api_keys k
    where k.digest = $1 and k.scope = 'manage' and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
      and accepted in (k.environment, 'any') and (k.allowed = '{}' or client <<= any(k.allowed::inet[]));
  end if;
  perform from tenants t where t.id = tenant and t.suspended_at is null for no key update;
  if not found then
    return false;
  end if;
  if key is null then
    delete from invites i where i.digest = $1 and i.expires_at > now();
    if not found then -- Another one was faster.
      return false;
    end if;
  end if;
  delete from sign_ins s where s.tenant_id = tenant and s.environment = env and s.id not in (
    select l.id from sign_ins l
    where l.tenant_id = tenant and l.environment = env and l.expires_at > now() and l.used_at > now() - interval '2 hours' order by l.used_at desc, l.id limit 19);
  insert into sign_ins (digest, tenant_id, key_id, invited_by, environment) values ($2, tenant, key, staff, env);
  update api_keys k set presented = true where k.id = key and not k.presented;
  return true;
end $$;

-- 0021 makes use_sign_in.

-- list_sign_ins returns the sign-ins of the same tenant and environment as the one with the digest, the last used first.
create function list_sign_ins(session bytea)
returns table (sign_in text, signed_in_at timestamptz, used_at timestamptz, ends_at timestamptz, key_id text, key_name text, own boolean)
language sql stable security definer as $$
  select s.id::text, s.created_at, s.used_at, least(s.expires_at, s.used_at + interval '2 hours'), coalesce(s.key_id, ''), coalesce(k.name, ''), s.id = l.id
  from live_sign_in($1) l join sign_ins s on s.tenant_id = l.tenant_id and s.environment = l.environment left join api_keys k on k.id = s.key_id
  where s.expires_at > now() and s.used_at > now() - interval '2 hours'
  order by s.used_at desc, s.id
$$;

-- end_sign_in ends a sign-in of the same tenant and environment as the one with the digest; '' stands for that one itself. It returns whether
-- there was one.
create function end_sign_in(session bytea, ended text) returns boolean language plpgsql security definer as $$
begin
  delete from sign_ins s using live_sign_in($1) l
  where s.tenant_id = l.tenant_id and s.environment = l.environment and s.id::text = coalesce(nullif($2, ''), l.id::text);
  return found;
end $$;

-- bans_for_sign_in returns the bans in force of the keys of the sign-in's tenant. A sign-in by a test key gets only bans of test keys.
create function bans_for_sign_in(session bytea, at timestamptz)
returns table (key_id text, key_name text, reason text, starts_at timestamptz, ends_at timestamptz) language sql stable security definer as $$
  select k.id, k.name, b.reason, b.starts_at, b.ends_at
  from live_sign_in($1) l join api_keys k on k.tenant_id = l.tenant_id
  join bans b on b.key_id = k.id and b.lifted_at is null and b.ends_at > $2
  where k.revoked_at is null and (k.expires_at is null or k.expires_at > $2) and (l.environment = 'live' or k.environment = l.environment)
  order by b.ends_at desc, k.id
$$;

-- prune_sign_ins removes up to the given number of expired sign-ins, and as many expired invitations. It returns the number of both.
create function prune_sign_ins(most integer) returns integer language plpgsql security definer as $$
declare
  n integer;
  m integer;
begin
  delete from sign_ins s where s.id = any(array(select id from sign_ins where expires_at <= now() order by expires_at limit most));
  get diagnostics n = row_count;
  delete from invites i where i.digest = any(array(select digest from invites where expires_at <= now() order by expires_at limit most));
  get diagnostics m = row_count;
  return n + m;
end $$;

-- A sign-in ends for ever with its key and with the suspension of its tenant, whatever is undone later.
create function end_sign_ins() returns trigger language plpgsql security definer as $$
begin
  if tg_table_name = 'tenants' then
    delete from sign_ins s where s.tenant_id = new.id;
    delete from invites i where i.tenant_id = new.id;
  else
    delete from sign_ins s where s.key_id = new.id;
  end if;
  return null;
end $$;
create trigger tenants_end_sign_ins after update of suspended_at on tenants
  for each row when (new.suspended_at is not null) execute function end_sign_ins();
create trigger api_keys_end_sign_ins after update of revoked_at, scope on api_keys
  for each row when (old.scope = 'manage' and (new.revoked_at is not null or new.scope <> 'manage')) execute function end_sign_ins();

do $$
declare
  f regproc;
begin
  foreach f in array array['invite_tenant', 'live_sign_in', 'open_sign_in', 'list_sign_ins', 'end_sign_in', 'bans_for_sign_in', 'prune_sign_ins', 'end_sign_ins']::regproc[] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
    execute format('revoke execute on function %s from public', f);
  end loop;
end $$;

grant execute on function invite_tenant to petstore_support;
grant execute on function open_sign_in, list_sign_ins, end_sign_in, bans_for_sign_in, prune_sign_ins to petstore_api;
