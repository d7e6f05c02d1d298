-- A month is closed in two steps. From begin_closing on, its usage is not changed any more: what arrives later goes to usage_late, as a
-- correction that the first open month has. Then its lines are written and sealed with their root. Nothing of that is ever changed.

create table usage_months (
  month     date primary key check (extract(day from month) = 1),
  -- The servers that had not delivered everything, and were not waited for.
  without   text[] not null default '{}',
  begun_at  timestamptz not null default now(),
  begun_by  text not null default session_user,
  -- The rest is set when the month is sealed. The format is that of the lines' canonical form.
  format    text,
  root      bytea check (length(root) = 32),
  tenants   bigint,
  lines     bigint,
  admitted  bigint,
  refused   bigint,
  -- The SHA-256 of all forms.
  sha256    bytea check (length(sha256) = 32),
  sealed_at timestamptz,
  sealed_by text,
  check (num_nulls(format, root, tenants, lines, admitted, refused, sha256, sealed_at, sealed_by) in (0, 9))
);

-- The lines of sealed months, in their canonical form (docs/billing.md). The generated columns are members of the form. There are no
-- references: what is sealed stays, whatever becomes of the tenant.
create table usage_lines (
  month      date not null references usage_months,
  tenant_id  bigint not null,
  number     integer not null check (number > 0),
  form       text not null,
  sha256     bytea not null check (length(sha256) = 32),
  assignment bigint  not null generated always as (((form::jsonb) ->> 'assignment')::bigint) stored,
  version    integer not null generated always as (((form::jsonb) ->> 'version')::integer) stored,
  corrects   text             generated always as ((form::jsonb) ->> 'corrects') stored,
  void       boolean not null generated always as (((form::jsonb) ->> 'void')::boolean) stored,
  primary key (month, tenant_id, number)
);
create index usage_lines_by_tenant on usage_lines (tenant_id, assignment, version);

-- What arrived after its month was closed. admitted is negative for refunds.
create table usage_late (
  id         bigint generated always as identity primary key,
  -- The month that has it as a correction: the first that was open when it arrived.
  month      date not null check (extract(day from month) = 1),
  tenant_id  bigint not null references tenants (id),
  hour       timestamptz not null,
  key_id     text not null references api_keys (id),
  assignment bigint not null,
  version    integer not null,
  admitted   bigint not null,
  refused    bigint not null,
  server_id  text not null,
  arrived_at timestamptz not null default now(),
  foreign key (tenant_id, assignment) references tenant_plans (tenant_id, id)
);
create index usage_late_by_tenant on usage_late (tenant_id, month);
create index usage_late_by_month on usage_late (month);
create index usage_late_by_hour on usage_late (hour, tenant_id);

-- All that was recorded, whenever it arrived.
create view usage_recorded as
select tenant_id, hour, key_id, assignment, version, admitted, refused from usage_hourly
union all
select tenant_id, hour, key_id, assignment, version, admitted, refused from usage_late;

alter table usage_writers
  -- Everything that the server admitted before this instant is recorded; null if it has not said.
  add delivered_to timestamptz check (isfinite(delivered_to)),
  -- When a month was closed without waiting for the server.
  add left_out_at  timestamptz check (isfinite(left_out_at));
update usage_writers set delivered_to = written_at;

-- The servers that may still deliver usage, each with the instant up to which it has delivered everything; null for none. A server that
-- was left out once, and has been silent since, is not waited for again.
create view usage_deliveries as
select server_id, delivered_to, written_at from usage_writers
where left_out_at is null or written_at > left_out_at;

-- What comes before this instant is closed. Every batch of usage asks for it, and plpgsql keeps its plan for the session.
create function closed_until() returns timestamptz language plpgsql stable as $$
begin
  return coalesce((select (m.month + interval '1 month') at time zone 'UTC' from usage_months m order by m.month desc limit 1), timestamptz 'epoch');
end $$;

-- The first month before $1 that is open and has usage or corrections; null for none.
create function open_month_before(date) returns date language sql stable as $$
  select least(
    (select date_trunc('month', min(u.hour), 'UTC') at time zone 'UTC' from usage_hourly u
     where u.hour >= closed_until() and u.hour < $1::timestamp at time zone 'UTC'),
    (select min(l.month) from usage_late l
     where l.month < $1 and not exists (select from usage_months m where m.month = l.month)))::date
$$;

-- begin_closing closes a month to changes of its usage, and does not wait for these servers. It does nothing if that was done before.
create function begin_closing(closed date, leave_out text[]) returns void language plpgsql security definer as $$
declare
  earlier date;
begin
  -- Batches hold this table in the mode ROW SHARE. Those under way are complete afterwards, the others see the closed month.
  lock table usage_months in exclusive mode;
  if exists (select from usage_months m where m.month = closed) then
    return;
  end if;
  if (closed + interval '1 month') at time zone 'UTC' > now() then
    raise exception '% has not ended', to_char(closed, 'YYYY-MM') using errcode = 'check_violation', constraint = 'usage_months_open';
  end if;
  earlier := open_month_before(closed);
  if earlier is not null then
    raise exception '% is open', to_char(earlier, 'YYYY-MM') using errcode = 'check_violation', constraint = 'usage_months_order';
  end if;
  update usage_writers set left_out_at = now() where server_id = any (leave_out);
  insert into usage_months (month, without) values (closed, leave_out);
end $$;

-- Nothing that is closed is changed.

create function check_usage_month() returns trigger language plpgsql as $$
begin
  if tg_op in ('DELETE', 'TRUNCATE') or tg_op = 'UPDATE' and (old.sealed_at is not null
       or (new.month, new.without, new.begun_at, new.begun_by) is distinct from (old.month, old.without, old.begun_at, old.begun_by)) then
    raise exception 'a closed month is never changed' using errcode = 'check_violation', constraint = 'usage_months_closed';
  end if;
  if tg_op = 'UPDATE' then
    new.sealed_at := now();
    new.sealed_by := session_user;
  end if;
  return new;
end $$;
create trigger usage_months_check before update or delete on usage_months for each row execute function check_usage_month();
create trigger usage_months_truncate before truncate on usage_months for each statement execute function check_usage_month();

create function check_usage_lines() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' or exists (select from added l join usage_months m using (month) where m.sealed_at is not null) then
    raise exception 'the lines of a closed month are never changed' using errcode = 'check_violation', constraint = 'usage_months_closed';
  end if;
  return null;
end $$;
create trigger usage_lines_insert after insert on usage_lines referencing new table as added
  for each statement execute function check_usage_lines();
create trigger usage_lines_check before update or delete or truncate on usage_lines for each statement execute function check_usage_lines();

create function refuse_late_usage() returns trigger language plpgsql as $$
begin
  raise exception 'late usage is only added to' using errcode = 'check_violation', constraint = 'usage_months_closed';
end $$;
create trigger usage_late_check before update or delete or truncate on usage_late for each statement execute function refuse_late_usage();

create function check_closed_usage() returns trigger language plpgsql as $$
declare
  until constant timestamptz := closed_until();
  closed boolean;
begin
  case tg_op
    when 'TRUNCATE' then closed := until > 'epoch';
    when 'INSERT' then closed := exists (select from added u where u.hour < until);
    when 'DELETE' then closed := exists (select from removed u where u.hour < until);
    else closed := exists (select from added u where u.hour < until) or exists (select from removed u where u.hour < until);
  end case;
  if closed then
    raise exception 'the usage of a closed month is never changed: what arrives late corrects it in the next'
      using errcode = 'check_violation', constraint = 'usage_months_closed';
  end if;
  return null;
end $$;
create trigger usage_hourly_closed_insert after insert on usage_hourly referencing new table as added
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_update after update on usage_hourly referencing old table as removed new table as added
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_delete after delete on usage_hourly referencing old table as removed
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_truncate before truncate on usage_hourly for each statement execute function check_closed_usage();

-- What the audit trail says about closed months. Billing may read no more of the trail.
create view usage_closings as
select number, at, login, after, hash from audit_entries where action = 'usage.close';

drop function add_usage;
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

-- A function that runs with its owner's rights looks for tables where the owner put them.
do $$
declare
  f regprocedure;
begin
  for f in select oid from pg_proc where pronamespace = current_schema()::regnamespace and proname in ('add_usage', 'begin_closing') loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

revoke all on usage_months, usage_lines, usage_late, usage_recorded, usage_deliveries, usage_closings from public;
revoke all on function closed_until, open_month_before, begin_closing, add_usage from public;
grant execute on function add_usage to petstore_api;
grant execute on function closed_until, open_month_before to petstore_support, petstore_billing;
grant execute on function begin_closing to petstore_billing;
grant select on usage_months, usage_lines, usage_late, usage_recorded, usage_deliveries, usage_closings to petstore_support, petstore_billing;
grant insert (month, tenant_id, number, form, sha256) on usage_lines to petstore_billing;
grant update (format, root, tenants, lines, admitted, refused, sha256) on usage_months to petstore_billing;
