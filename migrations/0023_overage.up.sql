lock table usage_months, sent_events in access exclusive mode;
-- The part of the requests that is above the included number of their month. A closed month of the first format has none.
alter table usage_months add column overage bigint;
alter table sent_events add column overage bigint not null default 0;

-- The last release's petstorectl closes months in the first format. What is overage, and what late usage makes of it, would be billed in no month.
create function check_usage_format() returns trigger language plpgsql as $$
begin
  if exists (select from tenant_months m where m.month = new.month) then
    raise exception 'requests of this month may be overage: close it with the petstorectl of this release'
      using errcode = 'check_violation', constraint = 'usage_months_format';
  end if;
  return new;
end $$;
create trigger usage_months_format before update on usage_months for each row
  when (new.format = 'petstore-usage/1' and old.format is null) execute function check_usage_format();

-- usage_overage has a row for each hour, assignment and version under which a tenant used something in a month, of the usage that was counted before the
-- instant until. overage is what a counter of the month would have found above the included number, one request after the other, in the order of the
-- periods and their hours. A period without a month is not counted, and neither are the assignments in voids. internal/usage.Overages has the same rule.
create function usage_overage(of_tenant bigint, of_month date, until timestamptz, voids bigint[])
returns table (hour timestamptz, assignment bigint, version integer, overage bigint) language sql stable as $$
  select p.hour, p.assignment, p.version,
         case when p.included is null then 0 else greatest(0, p.upto - greatest(p.included, p.upto - p.admitted)) end
  from (
    select n.*, sum(n.admitted) filter (where n.included is not null) over (order by n.valid_from, n.assignment, n.version, n.hour)::bigint as upto
    from (
      select u.hour, u.assignment, u.version, sum(u.admitted)::bigint as admitted, min(q.valid_from) as valid_from,
             case when u.assignment <> all (voids) then min(q.per_month) end as included
      from usage_arrived u
      left join quota_periods q on q.tenant_id = u.tenant_id and q.assignment = u.assignment and q.version = u.version
      where u.tenant_id = of_tenant and u.hour >= of_month::timestamp at time zone 'UTC'
        and u.hour < (of_month + interval '1 month') at time zone 'UTC' and u.counted_at < until
        and not exists (select from usage_months m where m.month = of_month and m.format = 'petstore-usage/1')
      group by 1, 2, 3
    ) n
  ) p
$$;

-- Overage with the hour in which it counts for receivers, as usage_counted has the requests. Late usage changes the overage of a whole closed month, and
-- so does a mark: each change counts in the hour of what caused it. A month is that of the requests.
create view usage_overage_counted as
select * from (
  select m.tenant_id, m.month, o.hour, case when s.at = '-infinity' then o.hour else s.at end as counted_at, o.assignment, o.version,
         o.overage - coalesce(lag(o.overage) over (partition by m.tenant_id, m.month, o.hour, o.assignment, o.version order by s.at), 0) as overage
  from (
    select a.tenant_id, g.month::date as month, (g.month + interval '1 month') at time zone 'UTC' as ends
    from (
      select p.tenant_id, date_trunc('month', min(p.valid_from) at time zone 'UTC') as since
      from tenant_plans p
      group by 1
      having bool_or(p.per_month is not null or p.plan in (select v.plan from plan_versions v where v.per_month is not null))
    ) a
    -- Where clocks disagree, requests may be recorded in a month before their period.
    cross join lateral generate_series(a.since - interval '1 month', greatest(closed_until(),
      (select max(u.hour) from usage_hourly u where u.tenant_id = a.tenant_id)) at time zone 'UTC', interval '1 month') as g (month)
  ) m
  left join usage_months c on c.month = m.month
  cross join lateral (
    select timestamptz '-infinity' as at
    union
    select least(date_trunc('hour', l.arrived_at at time zone 'UTC'), l.month + interval '1 month' - interval '1 hour') at time zone 'UTC'
    from usage_late l where l.tenant_id = m.tenant_id and l.hour >= m.month::timestamp at time zone 'UTC' and l.hour < m.ends
    union
    select date_trunc('hour', v.voided_at, 'UTC') from tenant_plans v where v.tenant_id = m.tenant_id and v.voided_at >= c.begun_at
  ) s
  cross join lateral usage_overage(m.tenant_id, m.month, greatest(m.ends, s.at + interval '1 hour'), array(
    select v.id from tenant_plans v
    where v.tenant_id = m.tenant_id and v.voided_at is not null
      and (c.begun_at is null or v.voided_at < c.begun_at or date_trunc('hour', v.voided_at, 'UTC') <= s.at)
  )) o
) d
where d.overage <> 0;

-- usage_counted has the overage in rows of its own.
alter view usage_counted rename to usage_requests_counted;
create view usage_counted as
select u.*, 0::bigint as overage from usage_requests_counted u
union all
select o.tenant_id, o.hour, o.counted_at, '', o.assignment, o.version, 0, 0, o.overage from usage_overage_counted o;

revoke execute on function usage_overage from public;
grant execute on function usage_overage to petstore_billing, petstore_support;
grant select on usage_arrived to petstore_billing, petstore_support;
grant select on usage_overage_counted, usage_counted to petstore_billing;
grant update (overage) on usage_months to petstore_billing;
grant insert (overage) on sent_events to petstore_billing;
