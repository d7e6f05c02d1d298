drop index tenant_plans_by_start;
