revoke insert (until, then_plan), update (until, then_plan) on tenant_plans from petstore_support;
revoke update (billing_ref, email) on tenants from petstore_support;
alter table tenants drop column billing_ref, drop column email;

create or replace function audit_tenant_plan() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'DELETE' and not exists (select from tenants t where t.id = old.tenant_id) then
    return null;
  end if;
  perform audit_by_trigger(case tg_op when 'INSERT' then 'plan.assign' when 'UPDATE' then 'plan.void' else 'plan.unschedule' end,
    case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end,
    'tenant:' || case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end,
    case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end $$;
do $$
begin
  execute format('alter function audit_tenant_plan set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;

-- A boost with one number gets the other one from the version with which it began. An assignment is otherwise never changed.
alter table tenant_plans disable trigger user;
update tenant_plans a set per_minute = q.per_minute, per_day = greatest(q.per_day, q.per_minute)
from quota_periods q
where (a.per_minute is null) <> (a.per_day is null) and q.tenant_id = a.tenant_id and q.assignment = a.id and q.valid_from = a.valid_from;
alter table tenant_plans enable trigger user;

alter table tenant_plans
  drop column until,
  drop column then_plan,
  drop constraint tenant_plans_boost_check,
  drop constraint tenant_plans_numbers_check,
  drop constraint tenant_plans_per_day_check,
  add constraint tenant_plans_check1 check (kind <> 'boost' or per_minute is not null),
  add constraint tenant_plans_check3 check ((per_minute is null) = (per_day is null));
