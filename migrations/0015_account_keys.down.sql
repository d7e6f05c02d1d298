drop function manage_key(bytea, text, text, jsonb), key_limits_of;
alter function change_own_key(bytea, text, text, jsonb) rename to manage_key;
grant execute on function manage_key to petstore_api;

create or replace view customer_keys as
select k.tenant_id, k.id, k.name, k.environment, k.last4, coalesce(k.per_minute, 0) as per_minute, k.scope, array_to_string(k.allowed, ',') as allowed,
       k.created_at, k.expires_at, k.revoked_at, k.last_used_at, b.ends_at as ban_ends_at, case when starts_with(issue.claimed_actor, 'key:') then substr(issue.claimed_actor, 5) when issue.number > 0 then 'support' end as issued_by, rotation.subject as replaces,
       key_version(k) as version
from api_keys k
left join lateral (select b.ends_at from bans b where b.key_id = k.id and b.lifted_at is null order by b.ends_at desc limit 1) b on true
left join lateral (
  select e.number, e.claimed_actor from audit_entries e where e.subject = k.id and e.action = 'key.issue' order by e.number limit 1
) issue on true
left join lateral (
  select e.subject from audit_entries e where e.number = issue.number - 1 and e.action = 'key.rotate' and e.after ->> 'replaced_by' = k.id
) rotation on true;

create or replace function list_sign_ins(session bytea)
returns table (sign_in text, signed_in_at timestamptz, used_at timestamptz, ends_at timestamptz, key_id text, key_name text, own boolean)
language sql stable security definer as $$
  select s.id::text, s.created_at, s.used_at, least(s.expires_at, s.used_at + interval '2 hours'), coalesce(s.key_id, ''), coalesce(k.name, ''), s.id = l.id
  from live_sign_in($1) l join sign_ins s on s.tenant_id = l.tenant_id left join api_keys k on k.id = s.key_id
  where s.expires_at > now() and s.used_at > now() - interval '2 hours'
  order by s.used_at desc, s.id
$$;

do $$ begin
  execute format('alter function list_sign_ins set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;
