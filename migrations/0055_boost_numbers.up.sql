-- Which numbers a boost was given. The others are those of before it, and change with them until the boost begins. Both are null for a boost
-- that was made before this migration: it was given those that it has.
alter table tenant_plans
  add named_per_minute bigint check (named_per_minute > 0),
  add named_per_day    bigint check (named_per_day > 0),
  -- A boost of the minute above the day that was agreed leaves the day as it is, as it does on a plan with numbers.
  drop constraint tenant_plans_check4,
  add constraint tenant_plans_minute_check check (per_minute > 0 and (kind <> 'assign' or per_minute <= per_day));

grant insert (named_per_minute, named_per_day) on tenant_plans to petstore_support;
