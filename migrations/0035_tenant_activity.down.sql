drop trigger usage_hourly_activity on usage_hourly;
drop function note_tenant_activity;
drop table tenant_activity;
