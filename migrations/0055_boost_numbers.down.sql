revoke insert (named_per_minute, named_per_day) on tenant_plans from petstore_support;

-- The minute of a boost is at most the day, as a request of the minute is one of the day. An assignment is otherwise never changed.
alter table tenant_plans disable trigger user;
update tenant_plans set per_minute = per_day where per_minute > per_day;
alter table tenant_plans enable trigger user;

alter table tenant_plans
  drop column named_per_minute,
  drop column named_per_day,
  drop constraint tenant_plans_minute_check,
  add constraint tenant_plans_check4 check (per_minute > 0 and per_minute <= per_day);
