lock table tenants in share row exclusive mode;
-- The last batch that each server wrote. A batch that is sent again after a lost reply is recognised and not added twice.
create table usage_writers (
  server_id    text        primary key,
  batch        bigint      not null,
  written_at   timestamptz not null,
  -- Everything that the server admitted before this instant is recorded; null if the server has not said so.
  delivered_to timestamptz check (isfinite(delivered_to)),
  -- When staff said that the server has ended and delivers no more (forget_server), or when a month was closed without it.
  left_out_at  timestamptz check (isfinite(left_out_at))
);

-- The usage that is billed: requests by tenant, hour, key and the plan in force.
create table usage_hourly (
  tenant_id   bigint      not null,
  hour        timestamptz not null,
  key_id      text        not null,
  assignment  bigint      not null,
  version     integer     not null,
  admitted    bigint      not null,
  refused     bigint      not null,
  minute      bigint      not null default 0,
  in_minute   bigint      not null default 0,
  in_previous bigint      not null default 0,
  constraint usage_hourly_pkey primary key (tenant_id, hour, key_id, assignment, version)
) partition by range (hour);
create index usage_hourly_by_hour on usage_hourly (hour, tenant_id);

-- Hours of the future, from a wrong clock.
create table usage_hourly_default partition of usage_hourly default;

-- The hours of closed months, summed by UTC day; day is its first instant. A month is in usage_hourly or here.
create table usage_daily (
  tenant_id  bigint      not null,
  day        timestamptz not null,
  key_id     text        not null,
  assignment bigint      not null,
  version    integer     not null,
  admitted   bigint      not null,
  refused    bigint      not null,
  constraint usage_daily_pkey primary key (tenant_id, day, key_id, assignment, version)
) partition by range (day);
create index usage_daily_by_day on usage_daily (day, tenant_id);

-- The partitions of usage_hourly, and the part of each that is already summed into days. A partition with rolled_at was dropped.
create table usage_partitions (
  name        text        primary key,
  -- null for the partition of all earlier hours
  begins      timestamptz,
  ends        timestamptz not null,
  -- The first tenant and hour that are not summed yet; null before the first and after the last.
  next_tenant bigint,
  next_hour   timestamptz,
  -- The sums so far: rows of hours, rows of days, and their requests.
  hours       bigint      not null default 0,
  days        bigint      not null default 0,
  admitted    numeric     not null default 0,
  refused     numeric     not null default 0,
  begun_at    timestamptz,
  summed_at   timestamptz,
  rolled_at   timestamptz
);

do $$
declare
  bound constant timestamptz := (date_trunc('month', now() at time zone 'UTC') + interval '2 months') at time zone 'UTC';
  name  constant text := 'usage_hourly_until_' || to_char(bound at time zone 'UTC' - interval '1 month', 'YYYY_MM');
begin
  execute format('create table %I partition of usage_hourly for values from (minvalue) to (%L)', name, bound);
  insert into usage_partitions (name, ends) values (name, bound);
end $$;

-- The last UTC day for which usage of a tenant was recorded in time. With it, tenants without usage in the last weeks are found without reading the
-- usage of all others. It is written when a row of usage_hourly is new, at most once for a tenant and day. It may be too early, never too late: if a
-- tenant seems to have no usage since an instant, usage_hourly decides. It is a table of its own because each change of a row of tenants notifies the
-- servers.
create table tenant_activity (
  tenant_id bigint primary key references tenants(id) on delete cascade,
  last_day  date   not null
);
create index tenant_activity_by_day on tenant_activity (last_day, tenant_id);

create table failed_requests (
  tenant_id   bigint      references tenants(id),
  server_id   text        not null,
  number      bigint      not null,
  key_id      text,
  at          timestamptz not null,
  request_id  text        not null,
  code        text        not null,
  plan        text        not null,
  limited_by  text        not null,
  allowed     bigint      not null,
  resets_at   timestamptz,
  partial     boolean     not null,
  method      text        not null,
  route       text        not null,
  suppressed  bigint      not null,
  status      integer     not null,
  -- It says more than the code where customers are told only the code.
  reason      text        not null,
  took_micros bigint      not null,
  constraint failed_requests_pkey primary key (server_id, number),
  constraint failed_requests_stranger check ((tenant_id is null) = (key_id is null))
);
create index failed_requests_by_key on failed_requests (tenant_id, key_id, at);
create index failed_requests_by_time on failed_requests (at, tenant_id);
create index failed_requests_by_request on failed_requests (request_id);
create index failed_requests_by_tenant on failed_requests (tenant_id, at);
create index failed_requests_of_strangers on failed_requests (at) where key_id is null;

-- Usage recorded before its month was closed: by hour, and usage summed by day under the first hour of the day.
create view usage_in_time as
select tenant_id, hour, key_id, assignment, version, admitted, refused, false as by_day from usage_hourly
union all
select tenant_id, day, key_id, assignment, version, admitted, refused, true from usage_daily;

-- add_usage adds a batch of a server, unless its number shows that it was added before, and reports whether it did. With this batch, everything is
-- recorded that the server admitted before the instant delivered, in microseconds since 1970; 0 if that is unknown. $4 to $13 are the counts, $14 and
-- $15 the times when keys were last used. Servers lock shared rows in the same order.
--
-- Recorded usage only grows, with one exception: a request that was refunded after it was recorded. Such a refund is negative, lowers the hour of its
-- request to 0 at most, and is only possible in the last day. Counts of deleted keys and tenants are left out, and so are hours that cannot be shown.
-- But counts from before a tenant was erased are billed, whatever the key. A row grows to 10^12 at most, because a sum that overflows would stop all
-- recording.
--
-- The tenant may not have the assignment and version any more, because they were just removed. Then those in force at the end of the hour stand in,
-- or now's if that is earlier: nothing is lost.
--
-- Usage of a closed month goes to usage_late.
create function add_usage(
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
    join tenants t on t.id = c.tenant_id
    left join api_keys k on k.id = c.key_id and k.tenant_id = c.tenant_id
    cross join lateral (
      select coalesce(sum(u.admitted), 0) as admitted, coalesce(sum(u.refused), 0) as refused from usage_recorded u
      where u.tenant_id = c.tenant_id and u.hour = c.hour and u.key_id = c.key_id and u.assignment = c.assignment and u.version = c.version
    ) r
    where (k.id is not null or t.erased_at is not null and c.key_id ~ '^key_[0-9A-Za-z]{16}$')
      and (least(c.refused, most - r.refused) > 0 or greatest(least(c.admitted, most - r.admitted), -r.admitted) <> 0);
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
  join tenants t on t.id = c.tenant_id
  left join api_keys k on k.id = c.key_id and k.tenant_id = c.tenant_id
  where c.hour between closed and 253402300799 -- the years 1970 to 9999
    and c.assignment is not null
    and (k.id is not null or t.erased_at is not null and c.key_id ~ '^key_[0-9A-Za-z]{16}$')
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

create function note_tenant_activity() returns trigger language plpgsql as $$
begin
  -- Rows that say enough already are not locked. Servers lock the others in the same order, after those of usage.
  insert into tenant_activity as a (tenant_id, last_day)
  select n.tenant_id, n.day
  from (select u.tenant_id, (max(u.hour) at time zone 'UTC')::date as day from added u group by u.tenant_id) n
  where not exists (select from tenant_activity h where h.tenant_id = n.tenant_id and h.last_day >= n.day)
  order by n.tenant_id
  on conflict (tenant_id) do update set last_day = excluded.last_day where a.last_day < excluded.last_day;
  return null;
end $$;
create trigger usage_hourly_activity after insert on usage_hourly referencing new table as added
  for each statement execute function note_tenant_activity();

create function refuse_daily_usage() returns trigger language plpgsql as $$
begin
  raise exception 'the usage of a closed month is never changed: what arrives late corrects it in the next'
    using errcode = 'check_violation', constraint = 'usage_months_closed';
end $$;
create trigger usage_daily_check before insert or update or delete or truncate on usage_daily
  for each statement execute function refuse_daily_usage();

-- add_usage_partitions makes the partitions of the next months, up to the third after this one, and returns their number. They exist long before
-- their month begins. Rows of the month that were recorded earlier move to its partition. It does nothing while others read or write usage for longer
-- than a moment.
create function add_usage_partitions() returns integer language plpgsql security definer as $$
declare
  last  timestamptz;
  made  integer := 0;
  month text;
  -- A table that is made goes to the first schema of the search path, which is pg_catalog.
  place constant text := (select c.relnamespace::regnamespace from pg_class c where c.oid = 'usage_hourly'::regclass);
begin
  loop
    select max(p.ends) into last from usage_partitions p;
    exit when last > now() + interval '3 months';
    if made = 0 then
      perform set_config('lock_timeout', '200ms', true);
      begin
        lock table usage_hourly in access exclusive mode;
      exception when lock_not_available then
        return 0;
      end;
      select max(p.ends) into last from usage_partitions p;
      exit when last > now() + interval '3 months';
    end if;
    month := 'usage_hourly_' || to_char(last at time zone 'UTC', 'YYYY_MM');
    insert into usage_partitions (name, begins, ends) values (month, last, (last at time zone 'UTC' + interval '1 month') at time zone 'UTC');
    execute format('create table %s.%I (like usage_hourly including defaults including indexes)', place, month);
    execute format('with early as (delete from usage_hourly_default where hour >= $1 and hour < $2 returning *) insert into %I select * from early', month)
      using last, (last at time zone 'UTC' + interval '1 month') at time zone 'UTC';
    execute format('alter table usage_hourly attach partition %I for values from (%L) to (%L)',
                   month, last, (last at time zone 'UTC' + interval '1 month') at time zone 'UTC');
    made := made + 1;
  end loop;
  return made;
end $$;

select add_usage_partitions();

-- The instant up to which usage is summed by day; null if none is.
create function by_day_until() returns timestamptz language sql stable as $$
  select max(p.ends) from usage_partitions p where p.rolled_at is not null
$$;

-- add_failed_requests stores failed requests. For each of their keys and hours it keeps the latest 50 that were refused with 429, and the
-- latest 50 others; rows that another server is removing are skipped. It leaves out requests that exist, requests of deleted keys, and
-- requests of the future, which would never be removed.
create function add_failed_requests(
  tenants bigint[], servers text[], numbers bigint[], key_ids text[], micros bigint[], tooks bigint[], requests text[], statuses bigint[],
  codes text[], reasons text[], plan_names text[], windows text[], limits bigint[], resets bigint[], partials boolean[], methods text[],
  routes text[], suppressed bigint[]
) returns void language plpgsql security definer as $$
begin
  insert into failed_requests (tenant_id, server_id, number, key_id, at, took_micros, request_id, status, code, reason, plan, limited_by,
                               allowed, resets_at, partial, method, route, suppressed)
  select k.tenant_id, left(r.server_id, 128), r.number, k.id,
         least(timestamptz 'epoch' + r.micros * interval '1 microsecond', now() + interval '1 minute'), greatest(r.took, 0),
         left(r.request_id, 128), least(greatest(r.status, 0), 999)::int, left(r.code, 128), left(r.reason, 128), left(r.plan, 128),
         left(r.limited_by, 128), r.allowed, to_timestamp(nullif(least(greatest(r.reset, 0), 253402300799), 0)), r.partial,
         -- The client chooses the method, of any length.
         left(r.method, 16), left(r.route, 128), r.suppressed
  from unnest(tenants, servers, numbers, key_ids, micros, tooks, requests, statuses, codes, reasons, plan_names, windows, limits, resets,
              partials, methods, routes, suppressed)
       as r (tenant_id, server_id, number, key_id, micros, took, request_id, status, code, reason, plan, limited_by, allowed, reset,
             partial, method, route, suppressed)
  left join api_keys k on k.id = r.key_id and k.tenant_id = r.tenant_id
  where k.id is not null or r.key_id = ''
  on conflict do nothing;

  with over as materialized (
    select f.server_id, f.number
    from (
      select distinct c.tenant_id, c.key_id, c.status = 429 as by_limit,
             date_trunc('hour', least(timestamptz 'epoch' + c.micros * interval '1 microsecond', now() + interval '1 minute'), 'UTC') as hour
      from unnest(tenants, key_ids, micros, statuses) as c (tenant_id, key_id, micros, status)
      where c.key_id <> ''
    ) k
    cross join lateral (
      select o.server_id, o.number from failed_requests o
      where o.tenant_id = k.tenant_id and o.key_id = k.key_id and (o.status = 429) = k.by_limit
        and o.at >= k.hour and o.at < k.hour + interval '1 hour'
      order by o.at desc, o.number desc offset 50
    ) f
  ), gone as materialized (
    select f.server_id, f.number from failed_requests f join over using (server_id, number) for update of f skip locked
  )
  delete from failed_requests f using gone g where f.server_id = g.server_id and f.number = g.number;
end $$;

-- count_catalogues looks at the tenants that sent requests last, up to the given number, and counts those without animals. ever says whether
-- there was an animal at any time: animals are removed only with their tenant. Row-level security hides other tenants' animals from the
-- owner too.
create function count_catalogues(most integer, out tenants bigint, out empty bigint, out ever boolean)
language plpgsql security definer as $$
declare
  was constant text := coalesce(current_setting('petstore.tenant_id', true), '');
  one bigint;
begin
  tenants := 0;
  empty := 0;
  select s.is_called into ever from pets_id_seq s;
  for one in
    select a.tenant_id from tenant_activity a join tenants t on t.id = a.tenant_id
    where t.erased_at is null order by a.last_day desc, a.tenant_id desc limit most
  loop
    perform set_config('petstore.tenant_id', one::text, true);
    tenants := tenants + 1;
    if not exists (select from pets p where p.tenant_id = one) then
      empty := empty + 1;
    end if;
  end loop;
  perform set_config('petstore.tenant_id', was, true);
end $$;

grant select (server_id, written_at) on usage_writers to petstore_api;
grant select (tenant_id, hour, key_id, admitted, refused, minute, in_minute, in_previous) on usage_hourly to petstore_api;
grant select on usage_hourly, usage_daily, usage_partitions, tenant_activity, usage_in_time to petstore_billing;
grant select on usage_hourly, usage_daily, usage_partitions, tenant_activity, failed_requests, usage_in_time to petstore_support;
grant execute on function add_usage, add_usage_partitions, add_failed_requests to petstore_api;
grant execute on function by_day_until, count_catalogues to petstore_billing, petstore_support;
