-- Usage that arrived after its month was closed counts, for receivers, to the hour in which it arrived, but not after the month that has
-- it as a correction. They may not add any more to what they have invoiced.
create index usage_late_by_count on usage_late (
  (least(date_trunc('hour', arrived_at at time zone 'UTC'), month + interval '1 month' - interval '1 hour') at time zone 'UTC'), tenant_id);

create or replace view usage_counted as
select tenant_id, hour, hour as counted_at, key_id, assignment, version, admitted, refused from usage_hourly
union all
select tenant_id, hour, least(date_trunc('hour', arrived_at at time zone 'UTC'), month + interval '1 month' - interval '1 hour') at time zone 'UTC',
       key_id, assignment, version, admitted, refused
from usage_late;

create index sent_events_late on sent_events (receiver, counted_at, tenant_id) where counted_at <> hour;
