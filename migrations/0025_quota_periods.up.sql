-- The same rows as before, by a shorter plan: an aggregate beside the row is computed once, while a subquery in the list of columns was
-- computed for each use of the column. A look-up of a caller read the view by 21 subplans and now does by three.
create or replace view quota_periods as
select a.tenant_id, a.id as assignment, v.version, v.generation, a.plan, a.kind, a.ends,
       coalesce(a.per_minute, v.per_minute) as per_minute, coalesce(a.per_day, v.per_day) as per_day,
       greatest(a.valid_from, v.valid_from) as valid_from, least(ended.at, replaced.at) as valid_to,
       a.valid_from as assigned_from, ended.at as assigned_to, a.voided_at, a.void_reason
from tenant_plans a
cross join lateral (
  select min(n.valid_from) as at from tenant_plans n where n.tenant_id = a.tenant_id and n.valid_from > a.valid_from
) ended
cross join lateral (
  select coalesce(a.generation, max(l.generation)) as generation from plan_versions l
  where l.plan = a.plan and l.valid_from <= a.valid_from
) followed
join plan_versions v on v.plan = a.plan and v.generation = followed.generation and (ended.at is null or v.valid_from < ended.at)
cross join lateral (
  select min(n.valid_from) as at from plan_versions n
  where n.plan = v.plan and n.generation = v.generation and n.valid_from > v.valid_from
) replaced
where replaced.at is null or replaced.at > a.valid_from;

create or replace function find_caller(bytea, timestamptz)
returns table (
  id text, environment text, expires_at timestamptz, revoked boolean, key_per_minute bigint,
  tenant_id bigint, tenant text, suspended_at timestamptz, created_at timestamptz,
  assignment bigint, version integer, plan text, per_minute bigint, per_day bigint, valid_from timestamptz, valid_to timestamptz,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz
) language plpgsql stable security definer as $$
begin
  return query
    select k.id, k.environment, k.expires_at, k.revoked_at is not null, coalesce(k.per_minute, 0), t.id, t.name, t.suspended_at, t.created_at,
           q.assignment, q.version, q.plan, q.per_minute, q.per_day, q.valid_from, q.valid_to,
           b.id, b.source, b.reason, b.starts_at, b.ends_at
    from api_keys k
    join tenants t on t.id = k.tenant_id
    cross join lateral (
      select * from quota_periods q
      where q.tenant_id = t.id and (q.valid_to is null or q.valid_to > $2)
        -- Assignments of the past are not read.
        and q.assigned_from >= coalesce(
          (select max(a.valid_from) from tenant_plans a where a.tenant_id = t.id and a.valid_from <= $2), '-infinity')
      order by q.valid_from limit 5
    ) q
    left join lateral (
      select b.id, b.source, b.reason, b.starts_at, b.ends_at from bans b
      where b.key_id = k.id and b.lifted_at is null and b.ends_at > $2
      order by b.ends_at desc limit 1
    ) b on true
    where k.digest = $1
    order by q.valid_from;
end $$;

do $$
begin
  execute format('alter function find_caller set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;
