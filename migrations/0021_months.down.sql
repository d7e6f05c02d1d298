lock table plan_versions, tenant_plans in access exclusive mode;
do $$
begin
  if exists (select from plan_versions where month = 'some') or exists (select from tenant_plans where month = 'some' or named_month = 'some') then
    raise exception 'plans or tenants have months and would lose them: remove them first';
  end if;
end $$;
-- Functions that stay read the views' columns.
drop trigger plans_month on plans;
create or replace view plans as
select l.name, l.position, l.title, l.price, l.retires_at, v.version, v.per_minute, v.per_day, l.unlisted,
       null::bigint as per_month, null::text as overage, null::bigint as overage_value
from price_list l
left join lateral (
  select v.version, v.per_minute, v.per_day from plan_versions v where v.plan = l.name and v.valid_from <= now() order by v.valid_from desc limit 1
) v on true;
create or replace view quota_periods as
select a.tenant_id, a.id as assignment, v.version, v.generation, a.plan, a.kind, a.ends,
       coalesce(a.per_minute, v.per_minute) as per_minute, coalesce(a.per_day, v.per_day) as per_day,
       greatest(a.valid_from, v.valid_from) as valid_from, least(ended.at, replaced.at) as valid_to,
       a.valid_from as assigned_from, ended.at as assigned_to, a.voided_at, a.void_reason,
       v.per_minute as plan_per_minute, v.per_day as plan_per_day,
       null::bigint as per_month, null::text as overage, null::bigint as overage_value, null::bigint as overage_limit,
       null::bigint as plan_per_month, null::text as plan_overage, null::bigint as plan_overage_value
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
drop trigger plan_versions_month on plan_versions;
drop trigger tenant_plans_month on tenant_plans;
drop function complete_version_month, complete_assignment_month, refuse_plan_month, month_periods;
alter table plan_versions drop column month, drop column per_month, drop column overage, drop column overage_value;
alter table tenant_plans
  drop column month, drop column per_month, drop column overage, drop column overage_value,
  drop column named_month, drop column named_per_month, drop column named_overage, drop column named_overage_value,
  add constraint tenant_plans_boost_check check (kind <> 'boost' or per_minute is not null or per_day is not null);
