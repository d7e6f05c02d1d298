lock table tenants, usage_writers, usage_hourly, usage_daily, usage_partitions, tenant_activity, failed_requests in access exclusive mode;
drop view usage_in_time;
drop table failed_requests, tenant_activity, usage_partitions, usage_daily, usage_hourly, usage_writers;
drop function add_usage, note_tenant_activity, refuse_daily_usage, add_usage_partitions, by_day_until, add_failed_requests, count_catalogues;
