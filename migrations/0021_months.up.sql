lock table plan_versions, tenant_plans in access exclusive mode;
-- A plan and a tenant may have a month: per_month is the number of requests of a UTC month that the price includes, overage how many more are admitted
-- and billed apart: a number of requests, or a share of the included ones in per cent, rounded down. In a new row null stands for what was before.
-- The defaults fill the rows that are there: a catalogue change. For the checks each table is read once.
alter table plan_versions
  add column month         text   not null default 'none' constraint plan_versions_month_kind check (month in ('none', 'some')),
  add column per_month     bigint constraint plan_versions_per_month check (per_month between 0 and 1000000000000),
  add column overage       text   not null default 'none' constraint plan_versions_overage_kind check (overage in ('none', 'number', 'share', 'unlimited')),
  add column overage_value bigint,
  add constraint plan_versions_month check (
    (month = 'some') = (per_month is not null) and (month = 'some' or overage = 'none') and (month = 'none' or per_minute is not null)
    and (month = 'none' or per_month > 0 or overage in ('number', 'unlimited'))),
  add constraint plan_versions_overage check (
    case overage when 'number' then coalesce(overage_value, 0) between 1 and 1000000000000
      when 'share' then coalesce(overage_value, 0) between 1 and 100000 else overage_value is null end),
  -- The day is at most what the month admits. Without a limit per month the sum is null.
  add constraint plan_versions_day_of_month check (
    per_day <= per_month + case overage when 'none' then 0 when 'number' then overage_value when 'share' then per_month * overage_value / 100 end);
alter table plan_versions alter column month drop default, alter column overage drop default;

alter table tenant_plans
  add column month               text   constraint tenant_plans_month_kind check (month in ('none', 'some')),
  add column per_month           bigint constraint tenant_plans_per_month check (per_month between 0 and 1000000000000),
  add column overage             text   constraint tenant_plans_overage_kind check (overage in ('none', 'number', 'share', 'unlimited')),
  add column overage_value       bigint,
  add column named_month         text   check (named_month in ('none', 'some')),
  add column named_per_month     bigint check ((named_per_month is not null) = (named_month is not distinct from 'some')),
  add column named_overage       text   check (named_overage in ('none', 'number', 'share', 'unlimited')),
  add column named_overage_value bigint check ((named_overage_value is not null) = coalesce(named_overage in ('number', 'share'), false)),
  add constraint tenant_plans_month check (
    (per_month is not null) = (month is not distinct from 'some')
    and (kind <> 'assign' or per_month is null or per_month > 0 or overage in ('number', 'unlimited'))),
  add constraint tenant_plans_overage check (
    case overage when 'number' then coalesce(overage_value, 0) between 1 and 1000000000000
      when 'share' then coalesce(overage_value, 0) between 1 and 100000 else overage_value is null end),
  add constraint tenant_plans_day_of_month check (kind <> 'assign' or
    per_day <= per_month + case overage when 'none' then 0 when 'number' then overage_value when 'share' then per_month * overage_value / 100 end),
  drop constraint tenant_plans_boost_check,
  add constraint tenant_plans_boost_check check (kind <> 'boost' or num_nonnulls(per_minute, per_day, month, overage) > 0);

-- Of a plan without numbers each assignment says what its month is. These rows are changed without entries: they are what they were.
select set_config('petstore.audited', 'on', true);
update tenant_plans a set month = 'none' from plan_versions v where v.plan = a.plan and v.version = 1 and v.per_minute is null;
select set_config('petstore.audited', '', true);

-- The programs of the last release, and SQL by hand, name no month: a version has that of the version before.
create function complete_version_month() returns trigger language plpgsql as $$
declare
  before plan_versions;
begin
  select * into before from plan_versions v where v.plan = new.plan order by v.version desc limit 1;
  if new.month is null and new.per_month is null then
    new.month := coalesce(before.month, 'none');
    new.per_month := before.per_month;
  end if;
  if new.overage is null then
    new.overage := case when new.month = 'some' then coalesce(before.overage, 'none') else 'none' end;
    new.overage_value := case when new.month = 'some' then before.overage_value end;
  end if;
  return new;
end $$;
create trigger plan_versions_month before insert on plan_versions for each row execute function complete_version_month();

-- An assignment that names no month has the plan's. If the plan has no numbers, it has that of the tenant's assignment to the plan before.
create function complete_assignment_month() returns trigger language plpgsql as $$
declare
  before tenant_plans;
begin
  if tg_op = 'UPDATE' then
    if (new.month, new.per_month, new.overage, new.overage_value) is distinct from (old.month, old.per_month, old.overage, old.overage_value) then
      raise exception 'an assignment is never changed: assign another plan' using errcode = 'check_violation', constraint = 'tenant_plans_begun';
    end if;
    return new;
  end if;
  if exists (select from plan_versions v where v.plan = new.plan and v.version = 1 and v.per_minute is not null) then
    if new.kind = 'assign' and num_nonnulls(new.month, new.overage) > 0 then
      raise exception 'an assignment has no month of its own if its plan % has numbers', new.plan
        using errcode = 'check_violation', constraint = 'tenant_plans_numbers';
    end if;
    return new;
  end if;
  select * into before from tenant_plans a
  where a.tenant_id = new.tenant_id and a.plan = new.plan and a.valid_from < new.valid_from order by a.valid_from desc limit 1;
  if new.month is null and new.per_month is null then
    new.month := coalesce(before.month, 'none');
    new.per_month := before.per_month;
  end if;
  if new.month = 'some' and new.overage is null then
    new.overage := coalesce(before.overage, 'none');
    new.overage_value := before.overage_value;
  end if;
  return new;
end $$;
create trigger tenant_plans_month before insert or update on tenant_plans for each row execute function complete_assignment_month();

create or replace view plans as
select l.name, l.position, l.title, l.price, l.retires_at, v.version, v.per_minute, v.per_day, l.unlisted,
       v.per_month, case when v.per_month is not null then v.overage end as overage, v.overage_value
from price_list l
left join lateral (
  select * from plan_versions v where v.plan = l.name and v.valid_from <= now() order by v.valid_from desc limit 1
) v on true;

create function refuse_plan_month() returns trigger language plpgsql as $$
begin
  if (new.per_month, new.overage, new.overage_value) is distinct from (old.per_month, old.overage, old.overage_value) then
    raise exception 'the view plans does not change months: insert a row of plan_versions, or use petstorectl plan edit --per-month'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  return new;
end $$;
create trigger plans_month instead of insert or update on plans for each row execute function refuse_plan_month();

-- per_month is null without a month, overage_limit also if there is no limit per month.
create or replace view quota_periods as
select a.tenant_id, a.id as assignment, v.version, v.generation, a.plan, a.kind, a.ends,
       coalesce(a.per_minute, v.per_minute) as per_minute, coalesce(a.per_day, v.per_day) as per_day,
       greatest(a.valid_from, v.valid_from) as valid_from, least(ended.at, replaced.at) as valid_to,
       a.valid_from as assigned_from, ended.at as assigned_to, a.voided_at, a.void_reason,
       v.per_minute as plan_per_minute, v.per_day as plan_per_day,
       i.per_month, case when i.per_month is not null then o.overage end as overage, case when i.per_month is not null then o.value end as overage_value,
       case when i.per_month is null then null when o.overage = 'none' then 0 when o.overage = 'number' then o.value
            when o.overage = 'share' then i.per_month * o.value / 100 end as overage_limit,
       v.per_month as plan_per_month, case when v.per_month is not null then v.overage end as plan_overage, v.overage_value as plan_overage_value
from tenant_plans a
cross join lateral (
  select min(n.valid_from) as at from tenant_plans n where n.tenant_id = a.tenant_id and n.valid_from > a.valid_from
) ended
cross join lateral (
  select coalesce(a.generation, max(l.generation)) as generation from plan_versions l
  where l.plan = a.plan and l.valid_from <= a.valid_from
) followed
join plan_versions v on v.plan = a.plan and v.generation = followed.generation and (ended.at is null or v.valid_from < ended.at)
cross join lateral (
  select min(n.valid_from) as at from plan_versions n
  where n.plan = v.plan and n.generation = v.generation and n.valid_from > v.valid_from
) replaced
cross join lateral (select case when a.month is null then v.per_month else a.per_month end as per_month) i
cross join lateral (
  select coalesce(a.overage, v.overage) as overage, case when a.overage is null then v.overage_value else a.overage_value end as value
) o
where replaced.at is null or replaced.at > a.valid_from;

drop function if exists callers_of_keys, use_sign_in;
-- callers_of_keys is caller_of_key for several digests, and returns their positions. Its plan runs once, not once for each digest. The lateral query
-- can't be joined in another order, so keys are found by their digests, however small the tables were when it was planned.
create function callers_of_keys(bytea[], timestamptz)
returns table (
  place bigint, id text, environment text, expires_at timestamptz, revoked_at timestamptz, key_per_minute bigint, scope text, allowed text,
  tenant_id bigint, tenant text, suspended_at timestamptz, created_at timestamptz,
  assignment bigint, version integer, plan text, per_minute bigint, per_day bigint, valid_from timestamptz, valid_to timestamptz,
  plan_per_minute bigint, plan_per_day bigint,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz, presented boolean,
  per_month bigint, overage text, overage_value bigint, plan_per_month bigint, plan_overage text, plan_overage_value bigint
) language plpgsql stable security definer set plan_cache_mode = force_generic_plan as $$
begin
  return query
    select d.place, c.*
    from unnest($1) with ordinality d (digest, place)
    cross join lateral (
      select k.id, k.environment, k.expires_at, k.revoked_at, coalesce(k.per_minute, 0), k.scope, array_to_string(k.allowed, ','),
             t.id, t.name, t.suspended_at, t.created_at,
             q.assignment, q.version, q.plan, q.per_minute, q.per_day, q.valid_from, q.valid_to,
             coalesce(q.plan_per_minute, 0), coalesce(q.plan_per_day, 0),
             b.id, b.source, b.reason, b.starts_at, b.ends_at, k.presented,
             q.per_month, q.overage, q.overage_value, q.plan_per_month, q.plan_overage, q.plan_overage_value
      from api_keys k
      join tenants t on t.id = k.tenant_id
      cross join lateral (
        select * from quota_periods q
        where q.tenant_id = t.id and (q.valid_to is null or q.valid_to > $2)
          -- Assignments of the past are not read.
          and q.assigned_from >= coalesce(
            (select max(a.valid_from) from tenant_plans a where a.tenant_id = t.id and a.valid_from <= $2), '-infinity')
        order by q.valid_from limit 5
      ) q
      left join lateral (
        select b.id, b.source, b.reason, b.starts_at, b.ends_at from bans b
        where b.key_id = k.id and b.lifted_at is null and b.ends_at > $2
        order by b.ends_at desc limit 1
      ) b on true
      where k.digest = d.digest
      offset 0
    ) c;
end $$;

-- use_sign_in returns the sign-in with the digest, with its tenant in as many rows as caller_of_key. If noted is set, it notes the use, at most
-- once a minute.
create function use_sign_in(session bytea, at timestamptz, noted boolean)
returns table (
  sign_in text, signed_in_at timestamptz,
  id text, environment text, key_per_minute bigint, allowed text, tenant_id bigint, tenant text, created_at timestamptz,
  assignment bigint, version integer, plan text, per_minute bigint, per_day bigint, valid_from timestamptz, valid_to timestamptz,
  plan_per_minute bigint, plan_per_day bigint,
  per_month bigint, overage text, overage_value bigint, plan_per_month bigint, plan_overage text, plan_overage_value bigint
) language plpgsql security definer as $$
begin
  if $3 then
    update sign_ins s set used_at = now() from live_sign_in($1) l where s.id = l.id and l.used_at < now() - interval '1 minute';
  end if;
  return query
    select s.id::text, s.created_at,
           coalesce(k.id, ''), s.environment, coalesce(k.per_minute, 0), coalesce(array_to_string(k.allowed, ','), ''),
           t.id, t.name, t.created_at, q.assignment, q.version, q.plan, q.per_minute, q.per_day, q.valid_from, q.valid_to,
           coalesce(q.plan_per_minute, 0), coalesce(q.plan_per_day, 0),
           q.per_month, q.overage, q.overage_value, q.plan_per_month, q.plan_overage, q.plan_overage_value
    from live_sign_in($1) s join tenants t on t.id = s.tenant_id left join api_keys k on k.id = s.key_id
    cross join lateral (
      select * from quota_periods q where q.tenant_id = t.id and (q.valid_to is null or q.valid_to > $2) order by q.valid_from limit 5
    ) q
    order by q.valid_from;
end $$;

-- month_periods has a tenant's periods of a month that have begun at an instant, with the requests that were recorded in them in time, in the order in
-- which overage is computed. Requests under a void assignment are in no order.
create function month_periods(tenant bigint, begins_at timestamptz, ends_at timestamptz, until timestamptz)
returns table (per_month bigint, overage text, overage_value bigint, admitted bigint)
language sql stable security definer as $$
  select q.per_month, q.overage, q.overage_value, coalesce(u.admitted, 0)
  from quota_periods q
  left join (
    select i.assignment, i.version, sum(i.admitted)::bigint as admitted
    from usage_in_time i where i.tenant_id = tenant and i.hour >= begins_at and i.hour < ends_at
    group by 1, 2
  ) u on u.assignment = q.assignment and u.version = q.version
  where q.tenant_id = tenant and q.voided_at is null
    and (u.assignment is not null or q.valid_from < ends_at and q.valid_from <= until and (q.valid_to is null or q.valid_to > begins_at))
  order by q.valid_from, q.assignment, q.version
$$;

do $$
declare
  f regproc;
begin
  foreach f in array array['callers_of_keys', 'use_sign_in', 'month_periods']::regproc[] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;
revoke execute on function use_sign_in from public;
grant execute on function callers_of_keys, use_sign_in, month_periods to petstore_api;
grant execute on function month_periods to petstore_support, petstore_billing;
grant insert (month, per_month, overage, overage_value) on plan_versions to petstore_billing;
grant insert (month, per_month, overage, overage_value, named_month, named_per_month, named_overage, named_overage_value) on tenant_plans to petstore_support;
grant select (per_month, overage, overage_value) on plans to petstore_api;
