-- A sign-in that began more than 15 minutes ago makes no key that may manage keys, and changes neither addresses nor end of one: that
-- would outlive a stolen cookie. What the key is, is
-- known after the change, which has locked the tenant. A sign-in by a key that is banned makes no key; what it rotates is banned as long as that one.
alter function manage_key(bytea, text, text, jsonb) rename to change_own_key;
revoke execute on function change_own_key from petstore_api;
create function manage_key(asker bytea, action text, target text, change jsonb) returns setof customer_keys
language plpgsql security definer as $$
declare
  stale boolean := exists (select from live_sign_in(asker) s where s.created_at <= clock_timestamp() - interval '15 minutes');
  k customer_keys;
  ban bans;
begin
  select b.* into ban from live_sign_in(asker) s join bans b on b.key_id = s.key_id and b.lifted_at is null and b.ends_at > clock_timestamp()
  order by b.ends_at desc limit 1;
  if ban.id is not null and action = 'key.issue' then
    perform refuse_key_change('banned');
  end if;
  for k in select * from change_own_key(asker, action, target, change) loop
    if stale and k.scope = 'manage' and (k.id = change ->> 'id' or k.id = target and (change ->> 'scope' = 'manage' or change ?| array['allowed', 'expires_at'])) then
      perform refuse_key_change('stale');
    end if;
    if k.id = change ->> 'id' and ban.ends_at > coalesce(k.ban_ends_at, '-infinity') then
      perform copy_ban('key:' || ban.key_id, ban, k.id);
      k.ban_ends_at := ban.ends_at;
    end if;
    return next k;
  end loop;
end $$;

-- key_limits_of returns the own limits of a tenant's keys, which no plan changes.
create function key_limits_of(tenant bigint) returns table (key_id text, per_minute bigint) language sql stable security definer as $$
  select k.id, k.per_minute from api_keys k where k.tenant_id = tenant and k.per_minute is not null
$$;

-- A sign-in ends with its key, also when a rotation has given that an end.
create or replace function list_sign_ins(session bytea)
returns table (sign_in text, signed_in_at timestamptz, used_at timestamptz, ends_at timestamptz, key_id text, key_name text, own boolean)
language sql stable security definer as $$
  select s.id::text, s.created_at, s.used_at, least(s.expires_at, s.used_at + interval '2 hours', k.expires_at), coalesce(s.key_id, ''),
         coalesce(k.name, ''), s.id = l.id
  from live_sign_in($1) l join sign_ins s on s.tenant_id = l.tenant_id and s.environment = l.environment left join api_keys k on k.id = s.key_id
  where s.expires_at > now() and s.used_at > now() - interval '2 hours' and (k.expires_at is null or k.expires_at > now())
  order by s.used_at desc, s.id
$$;

do $$
declare
  f regprocedure;
begin
  foreach f in array array['manage_key'::regproc, 'key_limits_of'::regproc, 'list_sign_ins'::regproc] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;
grant execute on function manage_key, key_limits_of to petstore_api;
