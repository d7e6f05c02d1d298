-- Usage under an assignment that is marked void is not billed, so it does not count for receivers. If its month was closed before that, it
-- counted, and is taken back in the hour in which the assignment was marked.
create index tenant_plans_void on tenant_plans (voided_at) where voided_at is not null;

-- Usage with the hour in which it arrived for receivers.
create view usage_arrived as
select tenant_id, hour, hour as counted_at, key_id, assignment, version, admitted, refused from usage_hourly
union all
select tenant_id, hour, least(date_trunc('hour', arrived_at at time zone 'UTC'), month + interval '1 month' - interval '1 hour') at time zone 'UTC',
       key_id, assignment, version, admitted, refused
from usage_late;

create or replace view usage_counted as
select u.tenant_id, u.hour, u.counted_at, u.key_id, u.assignment, u.version, u.admitted, u.refused
from usage_arrived u
where not exists (
  select from tenant_plans a
  where a.tenant_id = u.tenant_id and a.id = u.assignment and a.voided_at is not null and not exists (
    select from usage_months m where m.month = date_trunc('month', u.counted_at at time zone 'UTC')::date and m.begun_at <= a.voided_at
  )
)
union all
select u.tenant_id, u.hour, date_trunc('hour', a.voided_at at time zone 'UTC') at time zone 'UTC', u.key_id, u.assignment, u.version, -u.admitted, -u.refused
from tenant_plans a
join usage_arrived u on u.tenant_id = a.tenant_id and u.assignment = a.id
where a.voided_at is not null and exists (
  select from usage_months m where m.month = date_trunc('month', u.counted_at at time zone 'UTC')::date and m.begun_at <= a.voided_at
);
