-- key_limits_of returns the own limits of a tenant's keys, which no plan changes.
create function key_limits_of(tenant bigint) returns table (key_id text, per_minute bigint) language sql stable security definer as $$
  select k.id, k.per_minute from api_keys k where k.tenant_id = tenant and k.per_minute is not null
$$;

-- A sign-in ends with its key, also if the key ends because of a rotation.
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
  foreach f in array array['key_limits_of'::regproc, 'list_sign_ins'::regproc] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;
grant execute on function key_limits_of to petstore_api;
