-- As in 0020.
create or replace view quota_periods as
select a.tenant_id, a.id as assignment, v.version, v.generation, a.plan, a.kind, a.ends,
       coalesce(a.per_minute, v.per_minute) as per_minute, coalesce(a.per_day, v.per_day) as per_day,
       greatest(a.valid_from, v.valid_from) as valid_from, least(a.valid_to, v.valid_to) as valid_to,
       a.valid_from as assigned_from, a.valid_to as assigned_to, a.voided_at, a.void_reason
from (
  select a.*,
         (select min(n.valid_from) from tenant_plans n where n.tenant_id = a.tenant_id and n.valid_from > a.valid_from) as valid_to,
         coalesce(a.generation, (
           select max(v.generation) from plan_versions v where v.plan = a.plan and v.valid_from <= a.valid_from
         )) as of_generation
  from tenant_plans a
) a
join lateral (
  select v.*, (
           select min(n.valid_from) from plan_versions n
           where n.plan = v.plan and n.generation = v.generation and n.valid_from > v.valid_from
         ) as valid_to
  from plan_versions v
  where v.plan = a.plan and v.generation = a.of_generation and v.valid_from < coalesce(a.valid_to, 'infinity')
) v on v.valid_to is null or v.valid_to > a.valid_from;

create or replace function find_caller(bytea, timestamptz)
returns table (
  id text, environment text, expires_at timestamptz, revoked boolean, key_per_minute bigint,
  tenant_id bigint, tenant text, suspended_at timestamptz, created_at timestamptz,
  assignment bigint, version integer, plan text, per_minute bigint, per_day bigint, valid_from timestamptz, valid_to timestamptz,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz
) language plpgsql stable security definer as $$
declare
  c     record;
  since timestamptz;
begin
  select k.id, k.environment, k.expires_at, k.revoked_at is not null as revoked, coalesce(k.per_minute, 0) as per_minute,
         t.id as tenant_id, t.name, t.suspended_at, t.created_at,
         b.id as ban_id, b.source, b.reason, b.starts_at, b.ends_at
  into c
  from api_keys k
  join tenants t on t.id = k.tenant_id
  left join lateral (
    select b.id, b.source, b.reason, b.starts_at, b.ends_at from bans b
    where b.key_id = k.id and b.lifted_at is null and b.ends_at > $2
    order by b.ends_at desc limit 1
  ) b on true
  where k.digest = $1;
  if not found then
    return;
  end if;
  -- Assignments of the past are not read.
  select max(a.valid_from) into since from tenant_plans a where a.tenant_id = c.tenant_id and a.valid_from <= $2;
  return query
    select c.id, c.environment, c.expires_at, c.revoked, c.per_minute, c.tenant_id, c.name, c.suspended_at, c.created_at,
           q.assignment, q.version, q.plan, q.per_minute, q.per_day, q.valid_from, q.valid_to,
           c.ban_id, c.source, c.reason, c.starts_at, c.ends_at
    from quota_periods q
    where q.tenant_id = c.tenant_id and q.assigned_from >= coalesce(since, '-infinity') and (q.valid_to is null or q.valid_to > $2)
    order by q.valid_from limit 5;
end $$;

do $$
begin
  execute format('alter function find_caller set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;
