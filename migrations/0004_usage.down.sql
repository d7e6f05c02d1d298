drop table usage_writers;
drop table usage_hourly;
