drop function key_limits_of;

create or replace function list_sign_ins(session bytea)
returns table (sign_in text, signed_in_at timestamptz, used_at timestamptz, ends_at timestamptz, key_id text, key_name text, own boolean)
language sql stable security definer as $$
  select s.id::text, s.created_at, s.used_at, least(s.expires_at, s.used_at + interval '2 hours'), coalesce(s.key_id, ''), coalesce(k.name, ''), s.id = l.id
  from live_sign_in($1) l join sign_ins s on s.tenant_id = l.tenant_id and s.environment = l.environment left join api_keys k on k.id = s.key_id
  where s.expires_at > now() and s.used_at > now() - interval '2 hours'
  order by s.used_at desc, s.id
$$;

do $$ begin
  execute format('alter function list_sign_ins set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;
