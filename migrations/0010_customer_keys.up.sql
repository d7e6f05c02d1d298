lock table api_keys, audit_entries in access exclusive mode;
-- The scope manage: write, and the tenant's keys. find_caller does not find such a key, as it finds none with another scope than write.
alter table api_keys drop constraint api_keys_scope, add constraint api_keys_scope check (scope in ('read', 'write', 'manage'));
-- Whether a server has been sent the key, so that somebody has it.
alter table api_keys add column presented boolean not null default false;

-- Customers manage their keys by functions that the API's role may call, for it has no rights on keys nor on the audit trail. Who asks is named by a
-- digest that only they can send, so a server that was taken over can issue no key of a tenant whose manage key it has not seen. asker_of finds them:
-- the tenant, the environment of new keys, whether they may manage keys, and the actor of their changes.
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

-- valid_keys are a tenant's keys that are neither revoked nor expired at an instant. The replacement that a rotation has made counts until it is
-- revoked or expires: its ID, and the number of the rotation's entry. Until the key itself expires, it is in its grace period.
create function valid_keys(tenant bigint, at timestamptz) returns table (id text, replacement text, rotation bigint) language sql stable as $$
  select k.id, r.id, r.number
  from api_keys k left join lateral (
    select n.id, e.number from audit_entries e
    join api_keys n on n.id = e.after ->> 'replaced_by' and n.revoked_at is null and (n.expires_at is null or n.expires_at > $2)
    where e.subject = k.id and e.action = 'key.rotate' order by e.number desc limit 1
  ) r on true
  where k.tenant_id = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $2)
$$;

-- made_of_itself are the IDs of the keys that a key has made by rotating itself, and that these have made so.
create function made_of_itself(key text) returns setof text language sql stable as $$
  with recursive made (id) as (
    select $1
    union
    select e.after ->> 'replaced_by' from made m
    join audit_entries e on e.subject = m.id and e.action = 'key.rotate' and e.claimed_actor = 'key:' || m.id
  )
  select id from made where id <> $1
$$;

-- The version of a key changes with every change of it, and not when it is used.
create function key_version(k api_keys) returns text language sql stable as $$
  select substr(encode(sha256(convert_to(
    row(k.id, k.name, k.scope, k.allowed, k.per_minute, extract(epoch from k.expires_at), extract(epoch from k.revoked_at))::text, 'UTF8')), 'hex'), 1, 32)
$$;

-- Who issued a key (another key, the account, or support, whose names no customer sees), what it replaces and what replaced it stand in the audit
-- trail: a rotation writes the entry of the old key and then that of the new one.
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

-- own_keys lists the keys of the asker's tenant, the newest first: one of them, those of a status at an instant, or those after the place of
-- a key, which may be gone. Who may not manage keys sees the own one. A test key sees no live ones. The page is chosen before the history of its keys is read: a tenant may have many keys that
-- ended.
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

-- key_record is what an audit entry holds of a key, as recordKey of internal/store/people has it.
create function key_record(k api_keys, redacted text default null) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'id', k.id, 'environment', k.environment, 'last4', k.last4, 'per_minute', k.per_minute, 'scope', nullif(k.scope, 'write'),
    'allowed_addresses', nullif(array_to_string(k.allowed::inet[], ','), ''), 'created_at', audit_instant(k.created_at),
    'expires_at', audit_instant(k.expires_at), 'revoked_at', audit_instant(k.revoked_at),
    'redacted', case when redacted is not null then jsonb_build_array(redacted) end))
$$;

-- audit_entry writes an entry, and with it what its undo needs: the member that the records leave out, and its text before and after. first is the
-- number of the change's first entry, null for this one. It returns the number.
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

-- changed_key is the key with the members of a change.
create function changed_key(k api_keys, change jsonb) returns api_keys language plpgsql stable as $$
begin
  k.name := coalesce(change ->> 'name', k.name);
  k.scope := coalesce(change ->> 'scope', k.scope);
  k.allowed := coalesce(string_to_array(change ->> 'allowed', ',')::cidr[], k.allowed);
  -- These two may be null, for none.
  k.per_minute := case when change ? 'per_minute' then (change ->> 'per_minute')::bigint else k.per_minute end;
  k.expires_at := case when change ? 'expires_at' then (change ->> 'expires_at')::timestamptz else k.expires_at end;
  return k;
end $$;

-- add_key adds a key that a customer makes, whose tenant must be locked: it may have 10 valid ones without a replacement, and may make 200 in a UTC day.
-- It writes the entry.
create function add_key(actor text, k api_keys, first bigint default null) returns void language plpgsql as $$
begin
  if (select count(*) from api_keys o
      where o.tenant_id = k.tenant_id and o.created_at >= date_trunc('day', k.created_at, 'UTC') and exists (
        select from audit_entries e where e.subject = o.id and e.action = 'key.issue' and e.claimed_actor ~ '^(key|sign-in):')) >= 200 then
    perform refuse_key_change('day');
  end if;
  insert into api_keys (id, tenant_id, name, environment, digest, last4, per_minute, scope, allowed, created_at, expires_at)
  values (k.id, k.tenant_id, k.name, k.environment, k.digest, k.last4, k.per_minute, k.scope, k.allowed, k.created_at, k.expires_at);
  if (select count(*) from valid_keys(k.tenant_id, k.created_at) v where v.replacement is null) > 10 then
    perform refuse_key_change('room');
  end if;
  perform audit_entry(actor, 'key.issue', k.tenant_id, k.id, null, key_record(k, case when k.name <> '' then 'name' end), first);
end $$;

-- copy_ban bans a key as another one is.
create function copy_ban(actor text, ban bans, key text, first bigint default null) returns void language plpgsql as $$
begin
  insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
  values (ban.tenant_id, key, ban.source, ban.reason, ban.starts_at, ban.ends_at);
  perform audit_entry(actor, 'ban.place', ban.tenant_id, key, null, jsonb_build_object('key_id', key, 'source', ban.source,
    'starts_at', audit_instant(ban.starts_at), 'ends_at', audit_instant(ban.ends_at), 'redacted', jsonb_build_array('reason')), first);
end $$;

-- rotate_key replaces a key, which is locked, as its tenant is. A rotation lifts no ban. A key that rotates itself without managing others gets one that
-- ends when it does at the latest. A replacement that a key made of itself and that nobody has sent since was lost with its response: it is revoked. At
-- most 10 keys of a tenant are in their grace period: the one that was rotated first ends. It returns the IDs of those two.
create function rotate_key(actor text, itself boolean, manages boolean, before api_keys, change jsonb, at timestamptz) returns setof text
language plpgsql as $$
declare
  replacement text := (select v.replacement from valid_keys(before.tenant_id, at) v where v.id = before.id);
  lost api_keys;
  old  api_keys;
  made api_keys := before;
  was  api_keys;
  ban  bans;
  n    bigint;
  m    bigint;
begin
  if replacement is not null then
    select k.* into lost from api_keys k where k.id = replacement for no key update;
    if not itself or lost.presented or lost.last_used_at is not null or not exists (
        select from audit_entries e where e.subject = replacement and e.action = 'key.issue' and e.claimed_actor = actor) then
      perform refuse_key_change('rotated', replacement);
    end if;
    made.expires_at := lost.expires_at;
    update api_keys k set revoked_at = at where k.id = replacement returning k.* into old;
    n := audit_entry(actor, 'key.revoke', lost.tenant_id, lost.id, key_record(lost), key_record(old));
    return next lost.id;
  end if;
  was := made;
  if change ? 'expires_at' then
    if not manages and coalesce((change ->> 'expires_at')::timestamptz, 'infinity') > coalesce(made.expires_at, 'infinity') then
      perform refuse_key_change('late');
    end if;
    made.expires_at := (change ->> 'expires_at')::timestamptz;
  end if;
  made.id := change ->> 'id';
  made.digest := decode(change ->> 'digest', 'hex');
  made.last4 := change ->> 'last4';
  made.created_at := at;
  update api_keys k set expires_at = least(k.expires_at, at + make_interval(secs => case when manages then (change ->> 'grace')::integer else 86400 end))
  where k.id = before.id returning k.* into old;
  perform check_last_key(was, made, (change ->> 'client')::inet, at);
  m := audit_entry(actor, 'key.rotate', old.tenant_id, old.id, key_record(before), key_record(old) || jsonb_build_object('replaced_by', made.id), n);
  n := coalesce(n, m);
  perform add_key(actor, made, n);
  select b.* into ban from bans b where b.key_id = old.id and b.lifted_at is null and b.ends_at > at order by b.ends_at desc limit 1;
  if found then
    perform copy_ban(actor, ban, made.id, n);
  end if;
  for old in
    select k.* from api_keys k
    where k.id in (select v.id from valid_keys(before.tenant_id, at) v where v.replacement is not null order by v.rotation desc offset 10)
  loop
    made := old;
    made.expires_at := at;
    update api_keys k set expires_at = at where k.id = old.id;
    perform audit_entry(actor, 'key.edit', old.tenant_id, old.id, key_record(old), key_record(made), n);
    return next old.id;
  end loop;
end $$;

-- manage_key makes a change that a customer asks for: key.issue, key.edit, key.rotate or key.revoke of a key, with replacements also of the keys that
-- it has made of itself. It returns the key, of a rotation the new one, and then the others that ended with it. The tenant is locked before its keys, as by all that locks both.
create function manage_key(asker bytea, action text, target text, change jsonb) returns setof customer_keys
language plpgsql security definer as $$
declare
  a      record;
  at     timestamptz;
  before api_keys;
  after  api_keys;
  ended  text[];
  first  bigint;
  n      bigint;
begin
  perform from tenants t where t.id = (select o.tenant_id from asker_of(asker) o) for no key update;
  -- Again, for what came before the lock.
  select * into a from asker_of(asker);
  at := clock_timestamp();
  if not a.manages and (action not in ('key.rotate', 'key.revoke') or target is distinct from a.key_id) then
    perform refuse_key_change('scope');
  end if;
  if action <> 'key.issue' then
    select k.* into before from api_keys k
    where k.id = target and k.tenant_id = a.tenant_id and (a.environment = 'live' or k.environment = a.environment) for no key update;
    if not found then
      perform refuse_key_change('unknown');
    elsif change ->> 'version' <> key_version(before) then
      perform refuse_key_change('version');
    elsif action <> 'key.revoke' and (before.revoked_at is not null or before.expires_at <= at) then
      perform refuse_key_change('inactive');
    end if;
  end if;
  after := changed_key(before, change);
  if after.expires_at is distinct from before.expires_at and after.expires_at <= at then
    perform refuse_key_change('expiry');
  end if;
  case action
  when 'key.issue' then
    after.id := target;
    after.tenant_id := a.tenant_id;
    after.environment := a.environment;
    after.digest := decode(change ->> 'digest', 'hex');
    after.last4 := change ->> 'last4';
    after.created_at := at;
    perform add_key(a.actor, after);
  when 'key.rotate' then
    ended := array(select rotate_key(a.actor, target is not distinct from a.key_id, a.manages, before, change, at));
    target := change ->> 'id';
  when 'key.edit' then
    if after is distinct from before then
      perform check_last_key(before, after, (change ->> 'client')::inet, at);
      update api_keys k set name = after.name, scope = after.scope, per_minute = after.per_minute, allowed = after.allowed, expires_at = after.expires_at
      where k.id = target;
      perform audit_entry(a.actor, action, a.tenant_id, target, key_record(before), key_record(after, m), null, m, before.name, after.name)
      from (values (case when after.name <> before.name then 'name' end)) as v (m);
    end if;
  when 'key.revoke' then
    for before in
      select k.* from api_keys k
      where k.revoked_at is null and (k.id = target or change ? 'replacements' and k.id in (select made_of_itself(target)) and coalesce(k.expires_at > at, true))
      order by k.id <> target, k.created_at
    loop
      after := before;
      after.revoked_at := at;
      perform check_last_key(before, after, (change ->> 'client')::inet, at);
      update api_keys k set revoked_at = at where k.id = before.id;
      select audit_entry(a.actor, action, a.tenant_id, before.id, key_record(before), key_record(after, m), first, m, '', change ->> 'reason') into n
      from (values (case when change ->> 'reason' <> '' then 'reason' end)) as v (m);
      first := coalesce(first, n);
      ended := ended || before.id;
    end loop;
  end case;
  return query select k.* from customer_keys k where k.id = target or k.id = any(ended) order by k.id <> target;
end $$;

-- admits reports whether a key is for an address, null for one that is not known.
create function admits(k api_keys, client inet) returns boolean language sql stable as $$
  select k.allowed = '{}' or coalesce(client <<= any(k.allowed::inet[]), false)
$$;

-- check_last_key refuses a change, or the replacement that a rotation makes, after which the tenant, which must be locked, would have no key that may
-- manage its keys from the asker's address. Another key counts if it goes on for 7 days, or for as long as the key that is changed.
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

-- A change that was answered with 503 does not happen later, as with animals. A use of the key is no change.
create constraint trigger api_keys_refuse_late_insert after insert on api_keys deferrable initially deferred
  for each row when (current_setting('petstore.deadline', true) <> '') execute function refuse_late_write();
create constraint trigger api_keys_refuse_late_update after update of name, per_minute, scope, allowed, expires_at, revoked_at on api_keys
  deferrable initially deferred for each row when (current_setting('petstore.deadline', true) <> '') execute function refuse_late_write();

-- A petstorectl of the release before scopes would rotate a narrowed key into one that may do all.
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

-- A customer's revocation is no login's: within the 15 minutes, any login of support may take it back. Only manage_key updates with the owner's rights
-- for somebody who does not have them.
create or replace function check_revocation() returns trigger language plpgsql as $$
declare
  owner constant oid := (select relowner from pg_class where oid = tg_relid);
begin
  if old.revoked_at is null and new.revoked_at is not null then
    new.revoked_by := case when pg_has_role(session_user, owner, 'usage') or not pg_has_role(current_user, owner, 'usage') then session_user end;
    new.revocation_final_at := clock_timestamp() + interval '15 minutes';
    return new;
  end if;
  new.revoked_by := old.revoked_by;
  new.revocation_final_at := old.revocation_final_at;
  if old.revoked_at is not distinct from new.revoked_at then
    return new;
  elsif new.revoked_at is not null then
    raise exception 'key % was revoked at %: that stays so', old.id, old.revoked_at
      using errcode = 'check_violation', constraint = 'api_keys_revoked';
  elsif old.revocation_final_at is null or old.revocation_final_at <= clock_timestamp() then
    raise exception 'key % was revoked more than 15 minutes ago: issue another one', old.id
      using errcode = 'check_violation', constraint = 'api_keys_revocation_final';
  elsif old.revoked_by <> session_user and not pg_has_role(session_user, owner, 'usage') then
    raise exception 'key % was revoked by %: only that login or the owner of the tables may bring it back', old.id, old.revoked_by
      using errcode = 'check_violation', constraint = 'api_keys_revoked_by';
  end if;
  new.revoked_by := null;
  new.revocation_final_at := null;
  return new;
end $$;

do $$
declare
  f regprocedure;
begin
  foreach f in array array['own_keys'::regproc, 'manage_key'::regproc, 'check_rotation'::regproc] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;
grant execute on function own_keys, manage_key to petstore_api;
grant execute on function valid_keys, made_of_itself to petstore_support;
