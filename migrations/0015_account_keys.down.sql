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
