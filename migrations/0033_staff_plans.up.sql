-- Changes of plans that are to come.
create index tenant_plans_by_start on tenant_plans (valid_from);
