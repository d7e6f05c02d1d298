-- Reads all of the table, and blocks nobody: 10 million rows take a second.
alter table usage_hourly validate constraint usage_hourly_bound;
