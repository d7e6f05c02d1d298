-- What is known beforehand of a temporary assignment, and how a tenant is billed.

alter table tenant_plans
  -- When a temporary assignment or a boost ends by itself, whether or not its end is in the timeline: another assignment may begin before.
  add until     timestamptz check (isfinite(until) and until > valid_from),
  -- The plan that follows; null for what was in force before.
  add then_plan text references price_list (name),
  add check (then_plan is null or until is not null),
  -- A boost may change one number only. What follows a boost within a boost has its numbers.
  drop constraint tenant_plans_check1,
  drop constraint tenant_plans_check3,
  add constraint tenant_plans_boost_check check (kind <> 'boost' or per_minute is not null or per_day is not null),
  add constraint tenant_plans_numbers_check check (kind <> 'assign' or (per_minute is null) = (per_day is null)),
  add check (per_day > 0);

-- A temporary assignment that shall last is not void: it has another end.
create or replace function audit_tenant_plan() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'DELETE' and not exists (select from tenants t where t.id = old.tenant_id) then
    return null;
  end if;
  perform audit_by_trigger(
    case when tg_op = 'INSERT' then 'plan.assign' when tg_op = 'DELETE' or new.until is distinct from old.until then 'plan.unschedule' else 'plan.void' end,
    case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end,
    'tenant:' || case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end,
    case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end $$;
do $$
begin
  execute format('alter function audit_tenant_plan set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;

grant insert (until, then_plan), update (until, then_plan) on tenant_plans to petstore_support;

-- The tenant's number in the billing system, and whom to write to. Support and billing read them, and no other role does.
alter table tenants
  add billing_ref text check (billing_ref ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$'),
  add email       text check (email ~ '^[^@[:space:][:cntrl:]]+@[^@[:space:][:cntrl:]]+$' and length(email) <= 254);

grant update (billing_ref, email) on tenants to petstore_support;
