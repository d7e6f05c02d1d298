create or replace view usage_counted as
select tenant_id, hour, hour as counted_at, key_id, assignment, version, admitted, refused from usage_hourly
union all
select tenant_id, hour, least(date_trunc('hour', arrived_at at time zone 'UTC'), month + interval '1 month' - interval '1 hour') at time zone 'UTC',
       key_id, assignment, version, admitted, refused
from usage_late;
drop view usage_arrived;
drop index tenant_plans_void;
