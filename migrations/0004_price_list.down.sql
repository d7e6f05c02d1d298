lock table tenants, price_list, plan_versions, tenant_plans, tenant_suspensions in access exclusive mode;
drop trigger tenants_suspension_new on tenants;
drop trigger tenants_suspension on tenants;
drop view quota_periods, plans;
drop table tenant_suspensions, tenant_plans, plan_versions, price_list;
drop function past_until, check_plan_version, change_plans, check_tenant_plan, notify_tenant_plan, note_suspension;
