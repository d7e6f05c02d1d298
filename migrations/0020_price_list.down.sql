drop view plans;
drop view quota_periods;
drop trigger tenant_plans_check on tenant_plans;
drop trigger tenant_plans_audit on tenant_plans;
drop trigger tenant_plans_notify on tenant_plans;
drop trigger tenants_notify on tenants;
drop trigger tenants_suspension_new on tenants;
drop trigger tenants_suspension on tenants;
drop trigger price_list_audit on price_list;
drop table tenant_suspensions;
drop function note_suspension, change_plans, check_tenant_plan, audit_price_list, audit_tenant_plan, audit_by_trigger, notify_tenant_plan;
drop function find_caller, add_usage;

-- The plans with the numbers in force now. A plan that has not begun has those of its first version.
alter table price_list
  add per_minute bigint check (per_minute > 0),
  add per_day    bigint check (per_day > 0);
update price_list l set (per_minute, per_day) = (
  select v.per_minute, v.per_day from plan_versions v where v.plan = l.name
  order by v.valid_from > now(), case when v.valid_from <= now() then v.version end desc, v.version limit 1
);

-- The history has the numbers that were in force when each period began, and ends with what is in force now.
create temporary table periods on commit drop as
select a.tenant_id, a.id, a.valid_from, a.plan, coalesce(a.per_minute, v.per_minute) as per_minute, coalesce(a.per_day, v.per_day) as per_day,
       lead(a.valid_from) over (partition by a.tenant_id order by a.valid_from) as valid_to
from tenant_plans a
cross join lateral (
  select coalesce(a.generation, max(v.generation)) as generation from plan_versions v where v.plan = a.plan and v.valid_from <= a.valid_from
) g
cross join lateral (
  select v.per_minute, v.per_day from plan_versions v
  where v.plan = a.plan and v.generation = g.generation and v.valid_from <= a.valid_from order by v.valid_from desc limit 1
) v
where a.valid_from <= now() or not exists (select from tenant_plans o where o.tenant_id = a.tenant_id and o.valid_from < a.valid_from);

alter table tenants
  add plan       text references price_list (name),
  add per_minute bigint check (per_minute > 0),
  add per_day    bigint check (per_day > 0);
update tenants t set plan = p.plan,
  per_minute = case when l.per_minute is null then p.per_minute end, per_day = case when l.per_minute is null then p.per_day end
from periods p join price_list l on l.name = p.plan
where p.tenant_id = t.id and p.valid_to is null;
update tenants set plan = (select name from price_list order by position limit 1) where plan is null;
alter table tenants
  alter column plan set not null,
  add check ((per_minute is null) = (per_day is null)),
  add check (per_minute <= per_day);

create table usage_by_plan (
  tenant_id   bigint not null references tenants (id),
  hour        timestamptz not null,
  key_id      text not null references api_keys (id),
  plan        text not null references price_list (name),
  admitted    bigint not null,
  refused     bigint not null,
  minute      bigint not null default 0,
  in_minute   bigint not null default 0,
  in_previous bigint not null default 0
);
insert into usage_by_plan
select u.tenant_id, u.hour, u.key_id, a.plan, sum(u.admitted), sum(u.refused), max(u.minute), sum(u.in_minute), sum(u.in_previous)
from usage_hourly u join tenant_plans a on a.tenant_id = u.tenant_id and a.id = u.assignment
group by 1, 2, 3, 4;
drop table usage_hourly;
alter table usage_by_plan rename to usage_hourly;
alter table usage_hourly rename constraint usage_by_plan_tenant_id_fkey to usage_hourly_tenant_id_fkey;
alter table usage_hourly rename constraint usage_by_plan_key_id_fkey to usage_hourly_key_id_fkey;
alter table usage_hourly rename constraint usage_by_plan_plan_fkey to usage_hourly_plan_fkey;
alter table usage_hourly add primary key (tenant_id, hour, key_id, plan);
create index usage_hourly_by_hour on usage_hourly (hour, tenant_id);

drop table tenant_plans;
create table tenant_plans (
  tenant_id  bigint not null references tenants (id),
  valid_from timestamptz not null check (isfinite(valid_from)),
  valid_to   timestamptz check (isfinite(valid_to)),
  plan       text not null references price_list (name),
  per_minute bigint not null,
  per_day    bigint not null,
  primary key (tenant_id, valid_from)
);
insert into tenant_plans select tenant_id, valid_from, valid_to, plan, per_minute, per_day from periods;
alter table tenant_plans rename constraint tenant_plans_valid_from_check to tenant_plans_valid_from_finite;
alter table tenant_plans rename constraint tenant_plans_valid_to_check to tenant_plans_valid_to_finite;

drop table plan_versions;
drop function check_plan_version, audit_plan_version, past_until;
alter table price_list drop title, drop price, drop created_at, drop retires_at;
alter table price_list
  add check ((per_minute is null) = (per_day is null)),
  add check (per_minute <= per_day);
alter table price_list rename to plans;

create trigger tenants_notify
  after update of plan, per_minute, per_day, suspended_at, name or delete on tenants
  for each row execute function notify_tenant();
create trigger plans_notify
  after update or delete on plans
  for each statement execute function notify_all();

-- As in 0014.
create function find_caller(bytea, timestamptz)
returns table (
  id text, environment text, expires_at timestamptz, revoked boolean, key_per_minute bigint,
  tenant_id bigint, tenant text, plan text, suspended_at timestamptz, created_at timestamptz, per_minute bigint, per_day bigint,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz
) language plpgsql stable security definer as $$
begin
  return query
    select k.id, k.environment, k.expires_at, k.revoked_at is not null, coalesce(k.per_minute, 0),
           t.id, t.name, t.plan, t.suspended_at, t.created_at,
           coalesce(p.per_minute, t.per_minute), coalesce(p.per_day, t.per_day),
           b.id, b.source, b.reason, b.starts_at, b.ends_at
    from api_keys k
    join tenants t on t.id = k.tenant_id
    join plans p on p.name = t.plan
    left join lateral (
      select b.id, b.source, b.reason, b.starts_at, b.ends_at from bans b
      where b.key_id = k.id and b.lifted_at is null and b.ends_at > $2
      order by b.ends_at desc limit 1
    ) b on true
    where k.digest = $1;
end $$;

-- As in 0019.
create function add_usage(
  server text, number bigint,
  tenants bigint[], hours bigint[], key_ids text[], plan_names text[], admits bigint[], refuses bigint[],
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
  insert into usage_hourly as u (tenant_id, hour, key_id, plan, admitted, refused, minute, in_minute, in_previous)
  select c.tenant_id, to_timestamp(c.hour), c.key_id, c.plan, least(greatest(c.admitted, 0), most), least(c.refused, most),
    case when c.minute between 0 and latest then c.minute else 0 end,
    case when c.minute between 0 and latest then least(greatest(c.in_minute, 0), most) else 0 end,
    case when c.minute between 0 and latest then least(greatest(c.in_previous, 0), most) else 0 end
  from unnest(tenants, hours, key_ids, plan_names, admits, refuses, minutes, in_minutes, in_previouses)
    as c (tenant_id, hour, key_id, plan, admitted, refused, minute, in_minute, in_previous)
  join api_keys k on k.id = c.key_id and k.tenant_id = c.tenant_id
  join plans p on p.name = c.plan
  where c.hour between 0 and 253402300799 -- the years 1970 to 9999
  order by 1, 2, 3, 4
  on conflict (tenant_id, hour, key_id, plan) do update set
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
      select n.tenant_id, n.hour, n.key_id, n.plan, n.admitted, n.in_minute, n.in_previous,
        case when n.minute between 0 and latest then n.minute end as minute
      from unnest(tenants, hours, key_ids, plan_names, admits, minutes, in_minutes, in_previouses)
        as n (tenant_id, hour, key_id, plan, admitted, minute, in_minute, in_previous)
    ) c
    where least(c.admitted, c.in_minute, c.in_previous) < 0 and c.hour between 0 and 253402300799 and u.tenant_id = c.tenant_id and u.hour = to_timestamp(c.hour) and u.key_id = c.key_id and u.plan = c.plan
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

-- A function that runs with its owner's rights looks for tables where the owner put them.
do $$
declare
  f regprocedure;
begin
  for f in select oid from pg_proc where pronamespace = current_schema()::regnamespace and prosecdef loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

revoke all on plans from petstore_support, petstore_billing;
revoke insert (claimed_actor, action, tenant_id, subject, before, after, reason) on audit_entries from petstore_billing;
grant execute on function find_caller, add_usage to petstore_api;
grant select (tenant_id, valid_from, valid_to, per_minute) on tenant_plans to petstore_api;
grant select (tenant_id, hour, key_id, admitted, refused, minute, in_minute, in_previous) on usage_hourly to petstore_api;
grant select on plans, usage_hourly, tenant_plans to petstore_support, petstore_billing;
grant insert (plan, per_minute, per_day), update (plan, per_minute, per_day) on tenants to petstore_support;
grant insert, update (valid_to) on tenant_plans to petstore_support;
