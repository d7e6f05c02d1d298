lock table api_keys, audit_entries in access exclusive mode;
-- The scope manage allows what write does, and managing the tenant's keys. find_caller does not find a key with it, as with any other scope
-- than write.
alter table api_keys drop constraint api_keys_scope, add constraint api_keys_scope check (scope in ('read', 'write', 'manage'));
-- Whether the key was ever sent to a server. Then somebody has it.
alter table api_keys add column presented boolean not null default false;

-- Customers manage their keys by functions that the API's role may call, because it has no rights on keys and on the audit trail. A digest that only
-- the asker can send names the asker. So a server that was taken over can issue keys only for a tenant whose manage key it has seen. asker_of returns
-- the tenant, the environment of new keys, whether the asker may manage keys, and the actor of its changes.
create function asker_of(asker bytea, out tenant_id bigint, out key_id text, out environment text, out manages boolean, out actor text)
language plpgsql stable as $$
declare
  wrong text;
begin
  select k.tenant_id, k.id, k.environment, k.scope = 'manage', 'key:' || k.id,
         case when k.revoked_at is not null then 'revoked' when k.expires_at <= clock_timestamp() then 'expired' when t.suspended_at is not null then 'suspended'
           when exists (select from bans b where b.key_id = k.id and b.lifted_at is null and b.ends_at > clock_timestamp()) then 'ban' end
  into tenant_id, key_id, environment, manages, actor, wrong
  from api_keys k join tenants t on t.id = k.tenant_id where k.digest = asker;
  if not found or wrong is not null then
    perform refuse_key_change(coalesce(wrong, 'asker'));
  end if;
end $$;

create function refuse_key_change(why text, about text default '') returns void language plpgsql as $$
begin
  raise exception 'keys of customers: refused (%)', why using errcode = 'check_violation', constraint = 'customer_keys_' || why, detail = about;
end $$;

-- valid_keys are a tenant's keys that are neither revoked nor expired at an instant. replacement is the latest valid key that a rotation made in its
-- place, rotation the number of that rotation's entry. A key with a replacement is in its grace period until it expires.
create function valid_keys(tenant bigint, at timestamptz) returns table (id text, replacement text, rotation bigint) language sql stable as $$
  select k.id, r.id, r.number
  from api_keys k left join lateral (
    select n.id, e.number from audit_entries e
    join api_keys n on n.id = e.after ->> 'replaced_by' and n.revoked_at is null and (n.expires_at is null or n.expires_at > $2)
    where e.subject = k.id and e.action = 'key.rotate' order by e.number desc limit 1
  ) r on true
  where k.tenant_id = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $2)
$$;

-- made_of_itself returns the IDs of the keys that a key has made by rotating itself, and of those made by these in the same way.
create function made_of_itself(key text) returns setof text language sql stable as $$
  with recursive made (id) as (
    select $1
    union
    select e.after ->> 'replaced_by' from made m
    join audit_entries e on e.subject = m.id and e.action = 'key.rotate' and e.claimed_actor = 'key:' || m.id
  )
  select id from made where id <> $1
$$;

-- A key's version changes with every change of the key, but not with its use.
create function key_version(k api_keys) returns text language sql stable as $$
  select substr(encode(sha256(convert_to(
    row(k.id, k.name, k.scope, k.allowed, k.per_minute, extract(epoch from k.expires_at), extract(epoch from k.revoked_at))::text, 'UTF8')), 'hex'), 1, 32)
$$;

-- The audit trail says who issued a key (another key, the account, or support, whose names customers do not see), what it replaces and what
-- replaced it. A rotation writes the entry of the old key and then the entry of the new one.
create view customer_keys as
select k.tenant_id, k.id, k.name, k.environment, k.last4, coalesce(k.per_minute, 0) as per_minute, k.scope, array_to_string(k.allowed, ',') as allowed,
       k.created_at, k.expires_at, k.revoked_at, k.last_used_at, b.ends_at as ban_ends_at,
       case when starts_with(issue.claimed_actor, 'key:') then substr(issue.claimed_actor, 5) when starts_with(issue.claimed_actor, 'sign-in:') then 'account'
         when issue.number > 0 then 'support' end as issued_by,
       rotation.subject as replaces, replacement.id as replaced_by, key_version(k) as version
from api_keys k
left join lateral (select b.ends_at from bans b where b.key_id = k.id and b.lifted_at is null order by b.ends_at desc limit 1) b on true
left join lateral (
  select e.number, e.claimed_actor from audit_entries e where e.subject = k.id and e.action = 'key.issue' order by e.number limit 1
) issue on true
left join lateral (
  select e.subject from audit_entries e where e.number = issue.number - 1 and e.action = 'key.rotate' and e.after ->> 'replaced_by' = k.id
) rotation on true
left join lateral (
  select n.id from audit_entries e join api_keys n on n.id = e.after ->> 'replaced_by' and n.revoked_at is null
  where e.subject = k.id and e.action = 'key.rotate' order by e.number desc limit 1
) replacement on true;

-- own_keys lists the keys of the asker's tenant, the newest first: one key, those with a status at an instant, or those after a key's place, even if
-- that key is gone. An asker that may not manage keys sees only its own key. A test key sees no live ones. The page is chosen before the history of
-- its keys is read, because a tenant may have many ended keys.
create function own_keys(asker bytea, at timestamptz, one text, status text, after_at timestamptz, after text, most integer) returns setof customer_keys
language plpgsql stable security definer set plan_cache_mode = force_custom_plan as $$
declare
  a record;
begin
  select * into a from asker_of(asker);
  if not a.manages and one is distinct from a.key_id then
    perform refuse_key_change('scope');
  end if;
  return query
    with page as materialized (
      select k.id from api_keys k
      where k.tenant_id = a.tenant_id and (a.environment = 'live' or k.environment = a.environment) and (one is null or k.id = one)
        and (status is null or status = case
          when k.revoked_at is not null then 'revoked' when k.expires_at <= at then 'expired'
          when exists (select from bans b where b.key_id = k.id and b.lifted_at is null and b.ends_at > at) then 'banned' else 'active' end)
        -- With the status at hand the plan has an index for these.
        and (coalesce(status, '') not in ('active', 'banned') or k.revoked_at is null and (k.expires_at is null or k.expires_at > at))
        and (coalesce(status, '') <> 'revoked' or k.revoked_at is not null)
        and (after is null or k.created_at < after_at or k.created_at = after_at and k.id > after)
      order by k.created_at desc, k.id limit most
    )
    select k.* from page p cross join lateral (select c.* from customer_keys c where c.id = p.id offset 0) k order by k.created_at desc, k.id;
end $$;

-- audit_instant writes an instant as Go's JSON does: without zeros at the end.
create function audit_instant(at timestamptz) returns text language sql stable as $$
  select rtrim(rtrim(to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.') || 'Z'
$$;

-- key_record is the part of an audit entry about a key, as recordKey of internal/store/tenancy makes it.
create function key_record(k api_keys, redacted text default null) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'id', k.id, 'environment', k.environment, 'last4', k.last4, 'per_minute', k.per_minute, 'scope', nullif(k.scope, 'write'),
    'allowed_addresses', nullif(array_to_string(k.allowed::inet[], ','), ''), 'created_at', audit_instant(k.created_at),
    'expires_at', audit_instant(k.expires_at), 'revoked_at', audit_instant(k.revoked_at),
    'redacted', case when redacted is not null then jsonb_build_array(redacted) end))
$$;

-- audit_entry writes an entry and what its undo needs: the member that the records leave out, and its text before and after. first is the number
-- of the change's first entry, null if this is it. It returns the entry's number.
create function audit_entry(
  actor text, action text, tenant bigint, subject text, before jsonb, after jsonb, first bigint default null,
  member text default null, was text default null, became text default null
) returns bigint language plpgsql as $$
declare
  n bigint;
begin
  insert into audit_entries (claimed_actor, action, tenant_id, subject, before, after)
  values (actor, action, tenant, subject, before, after) returning number into n;
  insert into undo_values (number, first_number, tenant_id, before, after)
  values (n, coalesce(first, n), tenant, case when member is not null then jsonb_build_object(member, was) end,
          case when member is not null then jsonb_build_object(member, became) end);
  return n;
end $$;

-- admits reports whether a key may be used from an address, null for an unknown one.
create function admits(k api_keys, client inet) returns boolean language sql stable as $$
  select k.allowed = '{}' or coalesce(client <<= any(k.allowed::inet[]), false)
$$;

-- check_last_key refuses a change, or a rotation's replacement, after which the tenant would have no key that may manage its keys from the asker's
-- address. The tenant must be locked. Another key counts if it is valid for 7 days more, or for as long as the changed key.
create function check_last_key(before api_keys, after api_keys, client inet, at timestamptz) returns void language plpgsql as $$
begin
  if before.scope = 'manage' and (before.expires_at is null or before.expires_at > at)
    and (after.scope <> 'manage' or after.revoked_at is not null or after.expires_at < coalesce(before.expires_at, 'infinity')
      or after.allowed is distinct from before.allowed and not admits(after, client))
    and not exists (
      select from api_keys o where o.tenant_id = before.tenant_id and o.id not in (before.id, after.id) and o.environment = before.environment
        and o.scope = 'manage' and o.revoked_at is null and admits(o, client)
        and (o.expires_at is null or o.expires_at > at and o.expires_at >= least(before.expires_at, at + interval '7 days'))) then
    perform refuse_key_change('last');
  end if;
end $$;

-- As with animals, a change that was answered with 503 does not happen later. A use of the key is no change.
create constraint trigger api_keys_refuse_late_insert after insert on api_keys deferrable initially deferred
  for each row when (current_setting('petstore.deadline', true) <> '') execute function refuse_late_write();
create constraint trigger api_keys_refuse_late_update after update of name, per_minute, scope, allowed, expires_at, revoked_at on api_keys
  deferrable initially deferred for each row when (current_setting('petstore.deadline', true) <> '') execute function refuse_late_write();

-- petstorectl of the release before scopes would replace a restricted key by one that may do everything.
create function check_rotation() returns trigger language plpgsql security definer as $$
begin
  if exists (
    select from api_keys o, api_keys n where o.id = new.subject and n.id = new.after ->> 'replaced_by'
      and (o.scope <> n.scope or not (o.allowed <@ n.allowed and o.allowed @> n.allowed))) then
    raise exception 'this petstorectl is too old to rotate a key with a scope or addresses: use the petstorectl of the servers'' release'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  return null;
end $$;
create trigger audit_entries_rotation after insert on audit_entries for each row when (new.action = 'key.rotate') execute function check_rotation();

do $$
declare
  f regprocedure;
begin
  foreach f in array array['own_keys'::regproc, 'check_rotation'::regproc] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;
grant execute on function own_keys to petstore_api;
grant execute on function valid_keys, made_of_itself to petstore_support;
