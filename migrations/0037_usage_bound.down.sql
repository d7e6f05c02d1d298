alter table usage_hourly drop constraint usage_hourly_bound;
insert into usage_hourly select * from usage_hourly_default;
drop table usage_hourly_default;
