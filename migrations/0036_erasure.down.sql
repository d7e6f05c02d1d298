drop function count_catalogues;

drop trigger usage_lines_redact on usage_lines;
drop function check_usage_line;
drop trigger usage_lines_check on usage_lines;
create trigger usage_lines_check before delete or update or truncate on usage_lines for each statement execute function check_usage_lines();
drop table erased_leaves;

-- add_usage adds a batch of a server, unless its number shows that it was added before, and reports whether it did. With it, everything is
-- recorded that the server admitted before delivered, in microseconds since 1970; 0 if that is not known. The rows of
-- $4 to $13 are what was counted, those of $14 and $15 when keys were last used. Servers lock shared rows in the same order.
--
-- What is recorded only grows, with one exception: a request that was refunded after it was recorded. Such a refund is negative,
-- lowers the hour of its request to 0 at most, and is for the last day only. Counts of deleted keys and tenants are left out,
-- and so are hours that cannot be shown. A row grows to 10^12 at most, so that no sum overflows, which would stop all recording.
--
-- An assignment and version that the tenant does not have, as one that was removed in the same moment, stand for what is in force at the
-- end of the hour, or now if that is earlier: nothing is lost.
--
-- What belongs to a closed month goes to usage_late.
create or replace function add_usage(
  server text, number bigint, delivered bigint,
  tenants bigint[], hours bigint[], key_ids text[], assignments bigint[], versions integer[], admits bigint[], refuses bigint[],
  minutes bigint[], in_minutes bigint[], in_previouses bigint[], used_keys text[], used_micros bigint[]
) returns boolean language plpgsql security definer as $$
declare
  most   constant bigint := 1000000000000;
  -- No minute of the future is taken: it would hide those that follow. The number of the present minute differs between tenants.
  latest constant bigint := extract(epoch from now())::bigint / 60 + 1;
  until  timestamptz;
  closed bigint;
begin
  -- No month is closed meanwhile. begin_closing takes its locks in the same order.
  lock table usage_months in row share mode;
  until := closed_until();
  closed := extract(epoch from until)::bigint;
  -- A first attempt that still runs holds the row of the server, and the second waits for it.
  insert into usage_writers as w (server_id, batch, written_at, delivered_to)
  values (server, number, now(), case when delivered > 0 then
    timestamptz 'epoch' + least(delivered, (extract(epoch from now()) * 1000000)::bigint) * interval '1 microsecond' end)
  on conflict (server_id) do update set batch = excluded.batch, written_at = excluded.written_at,
    delivered_to = greatest(w.delivered_to, excluded.delivered_to)
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

  if closed > any (hours) then
    -- Two servers that refund requests of one hour do it one after the other.
    perform from usage_hourly u
    join unnest(tenants, hours, key_ids, assignments, versions) as c (tenant_id, hour, key_id, assignment, version)
      on u.tenant_id = c.tenant_id and u.hour = to_timestamp(c.hour) and u.key_id = c.key_id and u.assignment = c.assignment and u.version = c.version
    where c.hour between 0 and closed - 1
    order by u.tenant_id, u.hour, u.key_id, u.assignment, u.version for no key update of u;
    insert into usage_late (month, tenant_id, hour, key_id, assignment, version, admitted, refused, server_id)
    select (until at time zone 'UTC')::date, c.tenant_id, c.hour, c.key_id, c.assignment, c.version,
           greatest(least(c.admitted, most - r.admitted), -r.admitted), least(c.refused, most - r.refused), server
    from (
      select c.tenant_id, to_timestamp(c.hour) as hour, c.key_id, c.assignment, c.version,
             least(sum(least(case when c.admitted > 0 or to_timestamp(c.hour) > now() - interval '1 day' then c.admitted else 0 end, most)), most) as admitted,
             least(sum(least(c.refused, most)), most) as refused
      from unnest(tenants, hours, key_ids, assignments, versions, admits, refuses)
        as c (tenant_id, hour, key_id, assignment, version, admitted, refused)
      where c.hour between 0 and closed - 1 and c.assignment is not null
      group by 1, 2, 3, 4, 5
    ) c
    join api_keys k on k.id = c.key_id and k.tenant_id = c.tenant_id
    cross join lateral (
      select coalesce(sum(u.admitted), 0) as admitted, coalesce(sum(u.refused), 0) as refused from usage_recorded u
      where u.tenant_id = c.tenant_id and u.hour = c.hour and u.key_id = c.key_id and u.assignment = c.assignment and u.version = c.version
    ) r
    where least(c.refused, most - r.refused) > 0 or greatest(least(c.admitted, most - r.admitted), -r.admitted) <> 0;
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
  where c.hour between closed and 253402300799 -- the years 1970 to 9999
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
    where least(c.admitted, c.in_minute, c.in_previous) < 0 and c.hour between closed and 253402300799 and u.tenant_id = c.tenant_id
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

  -- Now and then the numbers of servers that are long gone are removed. A batch is retried for a far shorter time. But a server that may
  -- have usage of an open month is not forgotten.
  if number % 5000 = 0 then
    delete from usage_writers where server_id in (
      select w.server_id from usage_writers w
      where w.server_id <> server and w.written_at < least(now() - interval '7 days', until) for update skip locked
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

-- Not valid: the keys of tenants that were erased are gone.
alter table failed_requests add constraint failed_requests_key_id_fkey foreign key (key_id) references api_keys (id) not valid;
alter table usage_late add constraint usage_late_key_id_fkey foreign key (key_id) references api_keys (id) not valid;
alter table usage_hourly add constraint usage_hourly_key_id_fkey foreign key (key_id) references api_keys (id) not valid;
alter table tenants drop constraint tenants_reserved_name, drop constraint tenants_erased, drop column erased_at;
