drop view usage_closings;
drop trigger usage_hourly_closed_insert on usage_hourly;
drop trigger usage_hourly_closed_update on usage_hourly;
drop trigger usage_hourly_closed_delete on usage_hourly;
drop trigger usage_hourly_closed_truncate on usage_hourly;
drop function check_closed_usage;
drop function begin_closing;
drop function open_month_before;
drop function add_usage;
drop function closed_until;
drop view usage_deliveries;
alter table usage_writers drop delivered_to, drop left_out_at;
drop view usage_recorded;
-- What came late belongs to its hour again.
insert into usage_hourly as u (tenant_id, hour, key_id, assignment, version, admitted, refused)
select tenant_id, hour, key_id, assignment, version, sum(admitted), sum(refused) from usage_late group by 1, 2, 3, 4, 5
on conflict (tenant_id, hour, key_id, assignment, version) do update set
  admitted = greatest(u.admitted + excluded.admitted, 0), refused = u.refused + excluded.refused;
drop table usage_late;
drop table usage_lines;
drop table usage_months;
drop function refuse_late_usage;
drop function check_usage_lines;
drop function check_usage_month;

-- add_usage adds a batch of a server, unless its number shows that it was added before, and reports whether it did. The rows of
-- $3 to $12 are what was counted, those of $13 and $14 when keys were last used. Servers lock shared rows in the same order.
--
-- What is recorded only grows, with one exception: a request that was refunded after it was recorded. Such a refund is negative,
-- lowers the hour of its request to 0 at most, and is for the last day only. Counts of deleted keys and tenants are left out,
-- and so are hours that cannot be shown. A row grows to 10^12 at most, so that no sum overflows, which would stop all recording.
--
-- An assignment and version that the tenant does not have, as one that was removed in the same moment, stand for what is in force at the
-- end of the hour, or now if that is earlier: nothing is lost.
create function add_usage(
  server text, number bigint,
  tenants bigint[], hours bigint[], key_ids text[], assignments bigint[], versions integer[], admits bigint[], refuses bigint[],
  minutes bigint[], in_minutes bigint[], in_previouses bigint[], used_keys text[], used_micros bigint[]
) returns boolean language plpgsql security definer as $$
declare
  most   constant bigint := 1000000000000;
  -- No minute of the future is taken: it would hide those that follow. The number of the present minute differs between tenants.
  latest constant bigint := extract(epoch from now())::bigint / 60 + 1;
begin
  -- A first attempt that still runs holds the row of the server, and the second waits for it.
  insert into usage_writers as w (server_id, batch, written_at) values (server, number, now())
  on conflict (server_id) do update set batch = excluded.batch, written_at = excluded.written_at
  where w.batch < excluded.batch;
  if not found then
    return false;
  end if;

  if 0 > any (refuses) then
    raise exception 'usage is only added to' using errcode = 'insufficient_privilege';
  end if;
  if exists (
    select from unnest(tenants, assignments, versions) as c (tenant_id, assignment, version)
    left join tenant_plans a on a.tenant_id = c.tenant_id and a.id = c.assignment
    left join plan_versions v on v.plan = a.plan and v.version = c.version
    where v.version is null
  ) then
    select array_agg(case when v.version is null then q.assignment else c.assignment end order by i),
           array_agg(case when v.version is null then q.version else c.version end order by i)
    into assignments, versions
    from unnest(tenants, hours, assignments, versions) with ordinality as c (tenant_id, hour, assignment, version, i)
    left join tenant_plans a on a.tenant_id = c.tenant_id and a.id = c.assignment
    left join plan_versions v on v.plan = a.plan and v.version = c.version
    left join lateral (
      select q.assignment, q.version from quota_periods q
      where v.version is null and q.tenant_id = c.tenant_id and c.hour between 0 and 253402300799
      order by q.valid_from > least(to_timestamp(c.hour + 3600), now()),
               case when q.valid_from <= least(to_timestamp(c.hour + 3600), now()) then q.valid_from end desc, q.valid_from
      limit 1
    ) q on true;
  end if;

  insert into usage_hourly as u (tenant_id, hour, key_id, assignment, version, admitted, refused, minute, in_minute, in_previous)
  select c.tenant_id, to_timestamp(c.hour), c.key_id, c.assignment, c.version,
    least(sum(least(greatest(c.admitted, 0), most)), most), least(sum(least(c.refused, most)), most), max(n.minute),
    -- Several rows of a bucket are rare: see above. What they have of minutes is added, because too much is better than too little.
    least(sum(case when n.minute > 0 then least(greatest(c.in_minute, 0), most) else 0 end), most),
    least(sum(case when n.minute > 0 then least(greatest(c.in_previous, 0), most) else 0 end), most)
  from unnest(tenants, hours, key_ids, assignments, versions, admits, refuses, minutes, in_minutes, in_previouses)
    as c (tenant_id, hour, key_id, assignment, version, admitted, refused, minute, in_minute, in_previous)
  cross join lateral (select case when c.minute between 0 and latest then c.minute else 0 end as minute) n
  join api_keys k on k.id = c.key_id and k.tenant_id = c.tenant_id
  where c.hour between 0 and 253402300799 -- the years 1970 to 9999
    and c.assignment is not null
  group by 1, 2, 3, 4, 5
  order by 1, 2, 3, 4, 5
  on conflict (tenant_id, hour, key_id, assignment, version) do update set
    admitted = least(u.admitted + excluded.admitted, most), refused = least(u.refused + excluded.refused, most),
    minute = greatest(u.minute, excluded.minute),
    in_minute = least(most, case when u.minute >= excluded.minute then u.in_minute else 0 end
      + case when excluded.minute >= u.minute then excluded.in_minute else 0 end),
    in_previous = least(most, case u.minute - excluded.minute
      when 0 then u.in_previous + excluded.in_previous
      when 1 then u.in_previous + excluded.in_minute
      when -1 then u.in_minute + excluded.in_previous
      else case when u.minute > excluded.minute then u.in_previous else excluded.in_previous end end);
  if 0 > any (admits) or 0 > any (in_minutes) or 0 > any (in_previouses) then
    update usage_hourly u set admitted = greatest(u.admitted + least(c.admitted, 0), 0),
      in_minute = greatest(u.in_minute + case u.minute when c.minute then least(c.in_minute, 0)
        when c.minute - 1 then least(c.in_previous, 0) else 0 end, 0),
      in_previous = greatest(u.in_previous + case u.minute when c.minute then least(c.in_previous, 0)
        when c.minute + 1 then least(c.in_minute, 0) else 0 end, 0)
    from (
      select n.tenant_id, n.hour, n.key_id, n.assignment, n.version, n.admitted, n.in_minute, n.in_previous,
        case when n.minute between 0 and latest then n.minute end as minute
      from unnest(tenants, hours, key_ids, assignments, versions, admits, minutes, in_minutes, in_previouses)
        as n (tenant_id, hour, key_id, assignment, version, admitted, minute, in_minute, in_previous)
    ) c
    where least(c.admitted, c.in_minute, c.in_previous) < 0 and c.hour between 0 and 253402300799 and u.tenant_id = c.tenant_id
      and u.hour = to_timestamp(c.hour) and u.key_id = c.key_id and u.assignment = c.assignment and u.version = c.version
      and u.hour > now() - interval '1 day';
  end if;

  with uses as (
    select k.id, least(timestamptz 'epoch' + c.micros * interval '1 microsecond', now() + interval '1 minute') as at
    from unnest(used_keys, used_micros) as c (id, micros)
    join api_keys k on k.id = c.id
    -- A key that is being changed now is skipped until the next minute, so that nothing waits.
    order by k.id for no key update of k skip locked
  )
  update api_keys k set last_used_at = uses.at
  from uses where k.id = uses.id and (k.last_used_at is null or k.last_used_at < uses.at);

  -- Now and then the numbers of servers that are long gone are removed. A batch is retried for a far shorter time.
  if number % 5000 = 0 then
    delete from usage_writers where server_id in (
      select w.server_id from usage_writers w
      where w.server_id <> server and w.written_at < now() - interval '7 days' for update skip locked
    );
  end if;
  return true;
end $$;

do $$
declare
  f regprocedure;
begin
  for f in select oid from pg_proc where pronamespace = current_schema()::regnamespace and proname = 'add_usage' loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;
revoke all on function add_usage from public;
grant execute on function add_usage to petstore_api;
