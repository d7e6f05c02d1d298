-- month_usage sums what is recorded for a tenant in a month, by UTC day and key; and by month and key what arrived late and corrects an earlier
-- month in this one. The names are those of keys that still exist.
create function month_usage(tenant bigint, begins timestamptz, ends timestamptz)
returns table (starts timestamptz, corrects boolean, key_id text, key_name text, admitted bigint, refused bigint)
language sql stable security definer as $$
  select u.starts, u.corrects, u.key_id, coalesce((select k.name from api_keys k where k.id = u.key_id and k.tenant_id = tenant), ''), u.admitted, u.refused
  from (
    select date_trunc('day', i.hour, 'UTC') as starts, false as corrects, i.key_id, sum(i.admitted)::bigint as admitted, sum(i.refused)::bigint as refused
    from usage_in_time i where i.tenant_id = tenant and i.hour >= begins and i.hour < ends
    group by 1, 3
    union all
    select date_trunc('month', l.hour, 'UTC'), true, l.key_id, sum(l.admitted)::bigint, sum(l.refused)::bigint
    from usage_late l where l.tenant_id = tenant and l.month = (begins at time zone 'UTC')::date
    group by 1, 3
  ) u
  order by u.corrects, u.starts, u.key_id collate "C"
$$;

do $$
begin
  execute format('alter function month_usage set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;

revoke all on function month_usage from public;
grant execute on function month_usage to petstore_api;
