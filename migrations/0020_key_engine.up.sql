-- change_key makes every change of a key. Customers reach it through manage_key, staff through change_key_as_staff. The dropped functions are those
-- that 0010 and 0015 made in the last release.
drop function if exists change_own_key, rotate_key, add_key, copy_ban, changed_key;

-- without_digest returns a key as it may leave the database.
create or replace function without_digest(k api_keys) returns api_keys language sql stable as $$ select jsonb_populate_record(null::api_keys, to_jsonb(k) - 'digest') $$;

-- check_room refuses a valid key if its tenant has 10 others without a replacement, not counting the key that it replaces.
create or replace function check_room(k api_keys, replaced text, at timestamptz) returns void language plpgsql as $$
begin
  if (k.expires_at is null or k.expires_at > at)
    and (select count(*) from valid_keys(k.tenant_id, at) v where v.replacement is null and v.id not in (k.id, replaced)) >= 10 then
    perform refuse_key_change('room');
  end if;
end $$;

-- change_key makes a change of a key at an instant: key.issue, key.edit, key.rotate, key.revoke or key.unrevoke, with these members. It returns each
-- changed key, before and after, with the action of its audit entry. The caller writes the entries in this order. change_key locks the tenant before
-- its keys, as everything does that locks both. In an undo, the member restores is the action that is undone.
create or replace function change_key(action text, target text, change jsonb, at timestamptz)
returns table (did text, before api_keys, after api_keys) language plpgsql as $$
declare
  restores constant text := change ->> 'restores';
  k    api_keys;
  made api_keys;
  old  api_keys;
  most integer := 10;
begin
  perform from tenants t
  where t.id = coalesce((select o.tenant_id from api_keys o where o.id = target), (change ->> 'tenant_id')::bigint) for no key update;
  select o.* into k from api_keys o where o.id = target for no key update;
  if not found and action <> 'key.issue' then
    perform refuse_key_change('unknown');
  end if;
  made := k;
  if action in ('key.issue', 'key.edit') then
    made.name := coalesce(change ->> 'name', k.name);
    made.scope := coalesce(change ->> 'scope', k.scope);
    made.allowed := coalesce(string_to_array(change ->> 'allowed', ',')::cidr[], k.allowed);
    made.per_minute := case when change ? 'per_minute' then (change ->> 'per_minute')::bigint else k.per_minute end;
  end if;
  if change ? 'expires_at' and action in ('key.issue', 'key.edit', 'key.rotate') then
    made.expires_at := (change ->> 'expires_at')::timestamptz;
  end if;
  if k.revoked_at is not null and action <> 'key.unrevoke' then
    perform refuse_key_change('is_revoked');
  elsif restores is null and k.expires_at <= at and (action = 'key.rotate' or made.expires_at is distinct from k.expires_at) then
    perform refuse_key_change('is_expired');
  elsif restores is null and made.expires_at is distinct from k.expires_at and made.expires_at <= at then
    perform refuse_key_change('expiry');
  end if;

  case action
  when 'key.edit' then
    if made is not distinct from k then
      return;
    end if;
    -- An expired key that becomes valid again counts as one of the 10, unless it has a replacement.
    if restores = 'key.rotate' or restores is not null and k.expires_at <= at and (select c.replaced_by from customer_keys c where c.id = target) is null then
      perform check_room(made, target, at);
    end if;
    update api_keys o set name = made.name, scope = made.scope, per_minute = made.per_minute, allowed = made.allowed, expires_at = made.expires_at
    where o.id = target;
  when 'key.revoke' then
    update api_keys o set revoked_at = at where o.id = target returning o.* into made;
  when 'key.unrevoke' then
    if k.revoked_at is null then
      perform refuse_key_change('not_revoked');
    end if;
    update api_keys o set revoked_at = null where o.id = target returning o.* into made;
    perform check_room(made, target, at);
  when 'key.rotate' then
    perform refuse_key_change('rotated', v.replacement) from valid_keys(k.tenant_id, at) v where v.id = target and v.replacement is not null;
    update api_keys o set expires_at = least(o.expires_at, at + make_interval(secs => (change ->> 'grace')::double precision))
    where o.id = target returning o.* into old;
    return query select action, without_digest(k), without_digest(old);
    made.id := change ->> 'id';
  when 'key.issue' then
    made.id := target;
    made.tenant_id := (change ->> 'tenant_id')::bigint;
    made.environment := change ->> 'environment';
  end case;
  if action not in ('key.issue', 'key.rotate') then
    return query select action, without_digest(k), without_digest(made);
    return;
  end if;

  made.digest := decode(change ->> 'digest', 'hex');
  made.last4 := change ->> 'last4';
  made.created_at := at;
  made.last_used_at := null;
  made.presented := false;
  perform check_room(made, target, at);
  insert into api_keys select made.*;
  return query select 'key.issue', null::api_keys, without_digest(made);
  if action = 'key.issue' then
    return;
  end if;
  -- A rotation lifts no ban: the new key gets the ban of the old one, or of the sign-in's key.
  insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
  select b.tenant_id, made.id, b.source, b.reason, b.starts_at, b.ends_at from bans b
  where b.key_id in (target, change ->> 'ban_of') and b.lifted_at is null and b.ends_at > at order by b.ends_at desc, b.id desc limit 1;
  if found then
    return query select 'ban.place', null::api_keys, without_digest(made);
  end if;
  -- At most 10 keys are in their grace period: beyond that, the key that was rotated first ends. The entry of this rotation is not yet written.
  if old.expires_at is null or old.expires_at > at then
    most := 9;
  end if;
  for old in
    select o.* from valid_keys(k.tenant_id, at) v join api_keys o on o.id = v.id where v.replacement is not null and v.id <> target
    order by v.rotation desc offset most
  loop
    update api_keys o set expires_at = at where o.id = old.id returning o.* into made;
    return query select 'key.edit', without_digest(old), without_digest(made);
  end loop;
end $$;

-- change_key_as_staff is change_key for staff. They need no key, act in both environments, and write the entries themselves.
create or replace function change_key_as_staff(action text, target text, change jsonb, at timestamptz)
returns table (did text, before api_keys, after api_keys) language sql security definer as $$
  select set_config('petstore.door', 'staff', true);
  select * from change_key($1, $2, $3, $4)
$$;

-- manage_key is change_key for a customer, without key.unrevoke. It writes the entries. It returns the key (for a rotation the new one), and then the
-- other keys that ended with it. If change has the member replacements, a revocation also ends the keys that the key made by rotating itself. A key
-- without the scope manage can only rotate itself, and the replacement ends no later than the key would have. A replacement that a key made of itself
-- was lost with its response if nobody has sent it: another rotation revokes it. A sign-in that began more than 15 minutes ago makes no key that may
-- manage keys, and changes neither the addresses nor the end of one: these would outlive a stolen cookie. A sign-in by a banned key makes no key. A
-- tenant makes 200 keys in a UTC day.
create or replace function manage_key(asker bytea, action text, target text, change jsonb) returns setof customer_keys
language plpgsql security definer as $$
declare
  a      record;
  step   record;
  c      record;
  at     timestamptz;
  was    api_keys;
  lost   api_keys;
  entry  jsonb;
  member text;
  ended  text[];
  first  bigint;
  n      bigint;
begin
  perform set_config('petstore.door', 'customer', true);
  perform from tenants t where t.id = (select o.tenant_id from asker_of(asker) o) for no key update;
  -- Read again: the asker may have changed before the lock.
  select * into a from asker_of(asker);
  at := clock_timestamp();
  if action not in ('key.issue', 'key.edit', 'key.rotate', 'key.revoke')
    or not a.manages and (action in ('key.issue', 'key.edit') or target is distinct from a.key_id) then
    perform refuse_key_change('scope');
  elsif action = 'key.issue' and exists (select from bans b where b.key_id = a.key_id and b.lifted_at is null and b.ends_at > at) then
    perform refuse_key_change('banned');
  elsif action <> 'key.issue' then
    select k.* into was from api_keys k
    where k.id = target and k.tenant_id = a.tenant_id and (a.environment = 'live' or k.environment = a.environment) for no key update;
    if not found then
      perform refuse_key_change('unknown');
    elsif change ->> 'version' <> key_version(was) then
      perform refuse_key_change('version');
    elsif action <> 'key.revoke' and (was.revoked_at is not null or was.expires_at <= at) then
      perform refuse_key_change('inactive');
    end if;
  end if;
  if action <> 'key.revoke' and coalesce(case when action <> 'key.rotate' then change ->> 'scope' end, was.scope) = 'manage'
    and (action <> 'key.edit' or change ->> 'scope' = 'manage' or change ?| array['allowed', 'expires_at'])
    and exists (select from live_sign_in(asker) s where s.created_at <= at - interval '15 minutes') then
    perform refuse_key_change('stale');
  elsif action in ('key.issue', 'key.rotate') and (
    select count(*) from api_keys o where o.tenant_id = a.tenant_id and o.created_at >= date_trunc('day', at, 'UTC') and exists (
      select from audit_entries e where e.subject = o.id and e.action = 'key.issue' and e.claimed_actor ~ '^(key|sign-in):')) >= 200 then
    perform refuse_key_change('day');
  end if;
  change := change - 'restores' || jsonb_build_object('tenant_id', a.tenant_id, 'environment', a.environment, 'ban_of', a.key_id);
  if action = 'key.rotate' then
    select r.* into lost from valid_keys(a.tenant_id, at) v join api_keys r on r.id = v.replacement
    where v.id = target and target = a.key_id and not r.presented and r.last_used_at is null and exists (
      select from audit_entries e where e.subject = r.id and e.action = 'key.issue' and e.claimed_actor = a.actor)
    for no key update of r;
    if found then
      was.expires_at := lost.expires_at;
    end if;
    change := jsonb_build_object('expires_at', was.expires_at) || change;
    if not a.manages then
      change := jsonb_set(change, '{grace}', '86400');
      if coalesce((change ->> 'expires_at')::timestamptz, 'infinity') > coalesce(was.expires_at, 'infinity') then
        perform refuse_key_change('late');
      end if;
    end if;
  end if;

  for step in
    select 'key.revoke' as action, k.id, k.id <> target as later, k.created_at as since from api_keys k
    where k.tenant_id = a.tenant_id and k.revoked_at is null and (k.id = lost.id or manage_key.action = 'key.revoke' and (k.id = target
      or change ? 'replacements' and k.id in (select made_of_itself(target)) and coalesce(k.expires_at > at, true)))
    union all select manage_key.action, target, true, at where manage_key.action <> 'key.revoke'
    order by later, since
  loop
    for c in select * from change_key(step.action, step.id, change, at) loop
      if c.did = action and action in ('key.edit', 'key.revoke') then
        perform check_last_key(c.before, c.after, (change ->> 'client')::inet, at);
      elsif c.did = 'key.issue' and action = 'key.rotate' then
        perform check_last_key(was, c.after, (change ->> 'client')::inet, at);
      end if;
      member := case when c.did = 'key.revoke' and action = 'key.revoke' and change ->> 'reason' <> '' then 'reason'
                  when c.did <> 'key.rotate' and (c.after).name <> coalesce((c.before).name, '') then 'name' end;
      entry := key_record(c.after, member);
      if c.did = 'key.rotate' then
        entry := entry || jsonb_build_object('replaced_by', change ->> 'id');
      elsif c.did = 'ban.place' then
        member := null;
        select jsonb_build_object('key_id', b.key_id, 'source', b.source, 'starts_at', audit_instant(b.starts_at), 'ends_at', audit_instant(b.ends_at),
          'redacted', jsonb_build_array('reason')) into entry from bans b where b.key_id = (c.after).id;
      elsif c.did in ('key.edit', 'key.revoke') then
        ended := ended || (c.after).id;
      end if;
      n := audit_entry(a.actor, c.did, a.tenant_id, (c.after).id, case when (c.before).id <> '' then key_record(c.before) end, entry, first,
        case when c.did <> 'key.issue' then member end, case member when 'name' then (c.before).name else '' end,
        case member when 'name' then (c.after).name else change ->> 'reason' end);
      first := coalesce(first, n);
    end loop;
  end loop;
  target := case action when 'key.rotate' then change ->> 'id' else target end;
  return query select k.* from customer_keys k where k.id = target or k.id = any(ended) order by k.id <> target;
end $$;

-- For 15 minutes a revocation can be undone by the login that made it or by the owner; one by a customer, by any login of support. manage_key and
-- change_key_as_staff set petstore.door to say who made it. It counts only with the owner's rights, so no session can forge it.
create or replace function check_revocation() returns trigger language plpgsql as $$
declare
  owner constant oid := (select relowner from pg_class where oid = tg_relid);
begin
  if old.revoked_at is null and new.revoked_at is not null then
    new.revoked_by := case when current_setting('petstore.door', true) is distinct from 'customer' or pg_has_role(session_user, owner, 'usage')
      or not pg_has_role(current_user, owner, 'usage') then session_user end;
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
  foreach f in array array['manage_key'::regproc, 'change_key_as_staff'::regproc] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;
grant execute on function manage_key to petstore_api;
grant execute on function change_key_as_staff to petstore_support;
