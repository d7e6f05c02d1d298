-- Group roles with the least that each needs. docs/roles.md shows all of it, and a test compares the two.

-- Only an owner can take rights away from PUBLIC. For anybody else Postgres would only warn.
do $$
declare
  d name := current_database();
  s name := current_schema();
begin
  if not pg_has_role((select datdba from pg_database where datname = d), 'usage') then
    raise exception 'role % does not own the database; an administrator must run: %',
      current_user, format('alter database %I owner to %I', d, current_user);
  end if;
  if not pg_has_role((select nspowner from pg_namespace where nspname = s), 'usage') then
    raise exception 'role % does not own the schema %; an administrator must run: %',
      current_user, s, format('alter schema %I owner to %I', s, current_user);
  end if;
end $$;

-- Roles belong to the cluster, so another database's migration may have made them, even in this instant.
do $$
declare
  r name;
begin
  foreach r in array array['petstore_api', 'petstore_support', 'petstore_billing'] loop
    begin
      if not exists (select from pg_roles where rolname = r) then
        execute format('create role %I nologin', r);
      end if;
    exception
      when duplicate_object or unique_violation then
        null;
      when insufficient_privilege then
        raise exception 'role % may not create roles; an administrator must run: create role % nologin', current_user, r;
    end;
  end loop;
end $$;

-- PUBLIC has no rights, nor on what later migrations make. The roles begin with none.
do $$
declare
  s name := current_schema();
begin
  execute format('revoke all on database %I from public', current_database());
  execute format('revoke all on schema %I from public', s);
  execute format('revoke all on all tables in schema %I from public, petstore_api', s);
  execute format('revoke all on all sequences in schema %I from public, petstore_api', s);
  execute format('revoke all on all functions in schema %I from public, petstore_api', s);
  execute format('grant connect on database %I to petstore_api, petstore_support, petstore_billing', current_database());
  execute format('grant usage on schema %I to petstore_api, petstore_support, petstore_billing', s);
end $$;

alter default privileges revoke all on tables from public;
alter default privileges revoke all on sequences from public;
alter default privileges revoke all on functions from public;
alter default privileges revoke all on types from public;

-- find_caller returns the caller with a key of that digest, and the ban in force at the instant that ends last. It finds one
-- key, so that nobody lists the digests of the others. plpgsql keeps its plan for the session.
create function find_caller(bytea, timestamptz)
returns table (
  id text, environment text, expires_at timestamptz, revoked boolean, key_per_minute bigint,
  tenant_id bigint, tenant text, plan text, suspended_at timestamptz, created_at timestamptz, per_minute bigint, per_day bigint,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz
) language plpgsql stable security definer as $$
begin
  return query
    select k.id, k.environment, k.expires_at, k.revoked_at is not null, coalesce(k.per_minute, 0),
           t.id, t.name, t.plan, t.suspended_at, t.created_at,
           coalesce(p.per_minute, t.per_minute), coalesce(p.per_day, t.per_day),
           b.id, b.source, b.reason, b.starts_at, b.ends_at
    from api_keys k
    join tenants t on t.id = k.tenant_id
    join plans p on p.name = t.plan
    left join lateral (
      select b.id, b.source, b.reason, b.starts_at, b.ends_at from bans b
      where b.key_id = k.id and b.lifted_at is null and b.ends_at > $2
      order by b.ends_at desc limit 1
    ) b on true
    where k.digest = $1;
end $$;

-- find_key returns the ID of the key with that digest, null for none.
create function find_key(bytea) returns text language plpgsql stable security definer as $$
begin
  return (select k.id from api_keys k where k.digest = $1);
end $$;

-- place_automatic_ban bans a key of the tenant from now on and returns the ban, or the one in force, or nothing if there is no
-- such key. Nobody chooses how long it lasts: 15 minutes, then an hour, then a day for a repeat within 7 days. Start and end are
-- whole seconds, as in HTTP. The key's row is locked first, as for every change to its bans: of servers that come at the same
-- moment one places the ban and the others find it.
create function place_automatic_ban(tenant bigint, key text)
returns table (
  id bigint, tenant_id bigint, tenant_name text, key_id text, source text, reason text, starts_at timestamptz, ends_at timestamptz
) language plpgsql security definer as $$
declare
  at      timestamptz;
  earlier bigint;
  ban     bans;
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
    select count(*) into earlier from bans b
    where b.key_id = key and b.source = 'automatic' and b.lifted_at is null and b.starts_at > at - interval '7 days';
    insert into bans as b (tenant_id, key_id, source, reason, starts_at, ends_at)
    values (tenant, key, 'automatic', 'it went on sending requests after 429', date_trunc('second', at), date_trunc('second', at) +
            case earlier when 0 then interval '15 minutes' when 1 then interval '1 hour' else interval '24 hours' end)
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

-- add_usage adds a batch of a server, unless its number shows that it was added before, and reports whether it did. The rows of
-- $3 to $8 are what was counted, those of $9 and $10 when keys were last used. Servers lock shared rows in the same order.
--
-- What is recorded only grows, with one exception: a request that was refunded after it was recorded. Such a refund is negative,
-- lowers the hour of its request to 0 at most, and is for the last day only. Counts of deleted keys, tenants and plans are left out,
-- and so are hours that cannot be shown. A row grows to 10^12 at most, so that no sum overflows, which would stop all recording.
create function add_usage(
  server text, number bigint,
  tenants bigint[], hours bigint[], key_ids text[], plan_names text[], admits bigint[], refuses bigint[],
  used_keys text[], used_micros bigint[]
) returns boolean language plpgsql security definer as $$
declare
  most constant bigint := 1000000000000;
begin
  -- A first attempt that still runs holds the row of the server, and the second waits for it.
  insert into usage_writers as w (server_id, batch, written_at) values (server, number, now())
  on conflict (server_id) do update set batch = excluded.batch, written_at = excluded.written_at
  where w.batch < excluded.batch;
  if not found then
    return false;
  end if;

  if 0 > any (refuses) then
    raise exception 'usage is only added to' using errcode = 'insufficient_privilege';
  end if;
  insert into usage_hourly as u (tenant_id, hour, key_id, plan, admitted, refused)
  select c.tenant_id, to_timestamp(c.hour), c.key_id, c.plan, least(greatest(c.admitted, 0), most), least(c.refused, most)
  from unnest(tenants, hours, key_ids, plan_names, admits, refuses) as c (tenant_id, hour, key_id, plan, admitted, refused)
  join api_keys k on k.id = c.key_id and k.tenant_id = c.tenant_id
  join plans p on p.name = c.plan
  where c.hour between 0 and 253402300799 -- the years 1970 to 9999
  order by 1, 2, 3, 4
  on conflict (tenant_id, hour, key_id, plan) do update set
    admitted = least(u.admitted + excluded.admitted, most), refused = least(u.refused + excluded.refused, most);
  if 0 > any (admits) then
    update usage_hourly u set admitted = greatest(u.admitted + c.admitted, 0)
    from unnest(tenants, hours, key_ids, plan_names, admits) as c (tenant_id, hour, key_id, plan, admitted)
    where c.admitted < 0 and c.hour between 0 and 253402300799 and u.tenant_id = c.tenant_id and u.hour = to_timestamp(c.hour) and u.key_id = c.key_id and u.plan = c.plan
      and u.hour > now() - interval '1 day';
  end if;

  with uses as (
    select k.id, least(timestamptz 'epoch' + c.micros * interval '1 microsecond', now() + interval '1 minute') as at
    from unnest(used_keys, used_micros) as c (id, micros)
    join api_keys k on k.id = c.id
    -- A key that is being changed now is skipped until the next minute, so that nothing waits.
    order by k.id for no key update of k skip locked
  )
  update api_keys k set last_used_at = uses.at
  from uses where k.id = uses.id and (k.last_used_at is null or k.last_used_at < uses.at);

  -- Now and then the numbers of servers that are long gone are removed. A batch is retried for a far shorter time.
  if number % 5000 = 0 then
    delete from usage_writers where server_id in (
      select w.server_id from usage_writers w
      where w.server_id <> server and w.written_at < now() - interval '7 days' for update skip locked
    );
  end if;
  return true;
end $$;

-- add_refusals stores refusals, and removes all but the latest 50 of their keys. It skips rows that another server is removing.
-- Refusals that are there already, and those of deleted keys, are left out. One of the future would never be removed.
create function add_refusals(
  tenants bigint[], servers text[], numbers bigint[], key_ids text[], micros bigint[], requests text[], codes text[], plan_names text[],
  windows text[], limits bigint[], resets bigint[], partials boolean[], methods text[], routes text[], suppressed bigint[]
) returns void language plpgsql security definer as $$
begin
  insert into refusals (tenant_id, server_id, number, key_id, at, request_id, code, plan, limited_by, allowed, resets_at, partial,
                        method, route, suppressed)
  select r.tenant_id, left(r.server_id, 128), r.number, r.key_id,
         least(timestamptz 'epoch' + r.micros * interval '1 microsecond', now() + interval '1 minute'),
         left(r.request_id, 128), left(r.code, 128), left(r.plan, 128), left(r.limited_by, 128), r.allowed,
         to_timestamp(nullif(least(greatest(r.reset, 0), 253402300799), 0)), r.partial,
         -- The client chooses the method, of any length.
         left(r.method, 16), left(r.route, 128), r.suppressed
  from unnest(tenants, servers, numbers, key_ids, micros, requests, codes, plan_names, windows, limits, resets, partials, methods,
              routes, suppressed)
       as r (tenant_id, server_id, number, key_id, micros, request_id, code, plan, limited_by, allowed, reset, partial, method,
             route, suppressed)
  join api_keys k on k.id = r.key_id and k.tenant_id = r.tenant_id
  on conflict do nothing;

  with over as materialized (
    select r.tenant_id, r.server_id, r.number
    from (select distinct c.tenant_id, c.key_id from unnest(tenants, key_ids) as c (tenant_id, key_id)) k
    cross join lateral (
      select o.tenant_id, o.server_id, o.number from refusals o
      where o.tenant_id = k.tenant_id and o.key_id = k.key_id
      order by o.at desc, o.number desc offset 50
    ) r
  ), gone as materialized (
    select r.tenant_id, r.server_id, r.number from refusals r join over using (tenant_id, server_id, number)
    for update of r skip locked
  )
  delete from refusals r using gone g
  where r.tenant_id = g.tenant_id and r.server_id = g.server_id and r.number = g.number;
end $$;

-- prune_refusals removes at most so many refusals from before the instant, and from before the last day, and returns how many.
create function prune_refusals(before timestamptz, most integer) returns integer language plpgsql security definer as $$
declare
  removed integer;
begin
  with old as materialized (
    select r.tenant_id, r.server_id, r.number from refusals r where r.at < least(before, now() - interval '1 day')
    order by r.at limit most for update skip locked
  )
  delete from refusals r using old o
  where r.tenant_id = o.tenant_id and r.server_id = o.server_id and r.number = o.number;
  get diagnostics removed = row_count;
  return removed;
end $$;

-- prune_key_limits removes at most so many rows of keys whose minute is before that one, and is over for every tenant. It returns
-- how many. Tenants' rows stay.
create function prune_key_limits(before bigint, most integer) returns integer language plpgsql security definer as $$
declare
  removed integer;
begin
  delete from limit_states where (tenant_id, scope) in (
    select l.tenant_id, l.scope from limit_states l
    -- The number of the current minute differs between tenants by at most one.
    where l.scope <> '' and l.minute < least(before, floor(extract(epoch from now()) / 60)::bigint - 1)
    order by l.tenant_id, l.scope limit most for update skip locked
  );
  get diagnostics removed = row_count;
  return removed;
end $$;

-- Removes rows that have expired at an instant, and now, at most so many, of up to 1000 tenants whose ids follow the given one. It
-- sets one tenant after the other, because row-level security shows one at a time, also to this function's owner. It returns the last
-- of them, null for none.
create or replace function prune_idempotency_keys(at timestamptz, after bigint, most integer, out last bigint, out removed integer)
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

-- Everybody who may connect hears notifications, so they hold only the first half of a digest.
create or replace function notify_key() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'key ' || encode(substr(coalesce(new.digest, old.digest), 1, 16), 'hex'));
  return null;
end $$;

-- It reads the digest of the ban's key, which staff may not.
create or replace function notify_ban() returns trigger language plpgsql security definer as $$
begin
  perform pg_notify('petstore_callers', 'key ' || encode(substr(digest, 1, 16), 'hex'))
  from api_keys where id = coalesce(new.key_id, old.key_id);
  return null;
end $$;

-- What limits count cannot be undone. Terms and windows only move forward, and not beyond the clock. Within a window what is used
-- falls only as grants are returned, and so never below what it was when the term or the window began: the floors.
alter table limit_states
  add minute_floor bigint not null default 0,
  add day_floor    bigint not null default 0;
update limit_states set minute_floor = minute_used, day_floor = day_used;

create function check_limits() returns trigger language plpgsql as $$
begin
  if new.term < old.term or new.accounted < old.accounted or new.minute < old.minute or new.day < old.day
     or new.term = old.term and new.redis <> old.redis
     or new.term > old.term and new.term > (select number from cluster_term)
     or new.minute > old.minute and new.minute * 60 - 60 > extract(epoch from clock_timestamp())
     or new.day > old.day and new.day * 86400 - 60 > extract(epoch from clock_timestamp()) then
    raise exception 'terms and windows of limits only move forward, to the current ones' using errcode = 'insufficient_privilege';
  end if;
  new.minute_floor := case when new.minute > old.minute then 0 when new.term > old.term then old.minute_used else old.minute_floor end;
  new.day_floor := case when new.day > old.day then 0 when new.term > old.term then old.day_used else old.day_floor end;
  if new.minute_used < new.minute_floor or new.day_used < new.day_floor then
    raise exception 'what a window has used before the term began is not given back' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
-- Most updates only add within a term and its windows.
create trigger limit_states_check before update on limit_states for each row
  when (new.term <> old.term or new.redis <> old.redis or new.accounted <> old.accounted or new.minute <> old.minute or new.day <> old.day
        or new.minute_used < old.minute_used or new.day_used < old.day_used
        or new.minute_floor <> old.minute_floor or new.day_floor <> old.day_floor)
  execute function check_limits();

-- A program cannot read an infinite time, and one such server would keep all others from renewing their leases.
do $$
declare
  c record;
begin
  for c in
    select relname, attname from pg_attribute a join pg_class t on t.oid = a.attrelid
    where t.oid in ('tenants'::regclass, 'tenant_plans'::regclass, 'api_keys'::regclass, 'bans'::regclass, 'servers'::regclass,
                    'cluster_term'::regclass)
      and a.atttypid = 'timestamptz'::regtype and not a.attisdropped
  loop
    execute format('alter table %I add constraint %I check (isfinite(%I))', c.relname, c.relname || '_' || c.attname || '_finite', c.attname);
  end loop;
end $$;

-- Terms follow each other, and nothing forgets a server that ended silently.
create function check_term() returns trigger language plpgsql as $$
begin
  if new.number not in (old.number, old.number + 1)
     or old.unclean_until is not null and new.unclean_until is null
     or new.unclean_until < old.unclean_until
     or new.unclean_until is distinct from old.unclean_until and new.unclean_until > clock_timestamp() + interval '1 minute' then
    raise exception 'terms follow each other, and the time of an unclean end only grows' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
create trigger cluster_term_check before update on cluster_term for each row execute function check_term();

-- A function that runs with its owner's rights looks for tables where the owner put them. pg_temp is named last: otherwise a
-- temporary table of the caller would take the place of a table.
do $$
declare
  f regprocedure;
begin
  for f in select oid from pg_proc where pronamespace = current_schema()::regnamespace and prosecdef loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

-- petstore_api: the servers.
grant select on schema_migrations to petstore_api;
grant execute on function find_caller, place_automatic_ban, add_usage, add_refusals, prune_refusals, prune_key_limits,
  prune_idempotency_keys to petstore_api;
grant select (id) on tenants to petstore_api;
-- The highest limit that a tenant had on a day, and what it used.
grant select (tenant_id, valid_from, valid_to, per_minute) on tenant_plans to petstore_api;
grant select (tenant_id, hour, admitted, refused) on usage_hourly to petstore_api;
grant select, insert (tenant_id, name, category_id, status, created_at), update (name, category_id, status) on pets to petstore_api;
grant select, insert (tenant_id, pet_id, quantity, status, created_at), update (status) on orders to petstore_api;
grant select, insert, update (fingerprint, status, location, body, created_at, expires_at) on idempotency_keys to petstore_api;
grant select, insert, update (seen_at, redis, acked), delete on servers to petstore_api;
grant select, update (number, active, redis, sole, unclean_until, servers) on cluster_term to petstore_api;
grant select, insert (tenant_id, scope), update (term, redis, accounted, minute, minute_used, day, day_used)
  on limit_states to petstore_api;

-- petstore_support: tenants, keys and bans.
grant select on schema_migrations, servers, cluster_term, plans, usage_hourly, refusals to petstore_support;
grant execute on function find_key to petstore_support;
grant select, insert (name, plan, per_minute, per_day, created_at), update (plan, per_minute, per_day, suspended_at)
  on tenants to petstore_support;
grant select, insert, update (valid_to) on tenant_plans to petstore_support;
grant select (id, tenant_id, name, environment, last4, per_minute, created_at, expires_at, revoked_at, last_used_at),
  insert (id, tenant_id, name, environment, digest, last4, per_minute, created_at, expires_at),
  update (name, per_minute, expires_at, revoked_at) on api_keys to petstore_support;
grant select, insert (tenant_id, key_id, source, reason, starts_at, ends_at), update (lifted_at) on bans to petstore_support;
grant select, insert (claimed_actor, action, tenant_id, subject, before, after, reason) on audit_entries to petstore_support;
grant select on audit_head to petstore_support;

-- petstore_billing: what was used, and on which plan.
grant select on schema_migrations, servers, cluster_term, plans, tenants, tenant_plans, usage_hourly to petstore_billing;
