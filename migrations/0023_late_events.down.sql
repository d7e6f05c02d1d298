drop index sent_events_late;
drop index usage_late_by_count;
create or replace view usage_counted as select tenant_id, hour, hour as counted_at, key_id, assignment, version, admitted, refused from usage_hourly;
