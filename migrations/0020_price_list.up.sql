-- Plans have versions, a tenant's plan is a timeline, and usage names the assignment and the version under which it was counted.

-- What began before this instant is never changed or removed. Tests replace the function, to make a past.
create function past_until() returns timestamptz language sql stable as 'select now()';

-- The plans that are or were sold. Their numbers are in plan_versions.
drop trigger plans_notify on plans;
alter table plans rename to price_list;
alter table price_list
  add title      text not null default '',
  add price      text not null default '',
  add created_at timestamptz not null default now() check (isfinite(created_at)),
  -- From then on nobody new is assigned the plan; null for a plan that is sold.
  add retires_at timestamptz check (isfinite(retires_at));

-- The numbers of a plan from an instant on. A version ends when the next of its generation begins. An edit that keeps existing
-- tenants on their numbers begins a generation: an assignment follows the versions of its own generation only, which is the plan's
-- latest when the assignment begins, or the one that it names. What has begun is never changed or removed.
create table plan_versions (
  plan       text not null references price_list (name),
  version    integer not null check (version > 0),
  generation integer not null check (generation > 0),
  valid_from timestamptz not null check (isfinite(valid_from)),
  -- Both numbers, or neither: a plan without numbers takes them from each assignment.
  per_minute bigint check (per_minute > 0),
  per_day    bigint check (per_day > 0),
  created_at timestamptz not null default now(),
  created_by text not null default session_user,
  primary key (plan, version),
  unique (plan, valid_from),
  check ((per_minute is null) = (per_day is null)),
  check (per_minute <= per_day)
);
create index plan_versions_by_generation on plan_versions (plan, generation, valid_from);
insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day)
select name, 1, 1, timestamptz '1970-01-01Z', per_minute, per_day from price_list;

-- A tenant's plan is a timeline: an assignment is in force from valid_from until the next one of the tenant begins, so there are no gaps
-- and no overlaps. What has begun is never changed or removed, except that it may be marked void.
alter table tenant_plans
  drop constraint tenant_plans_tenant_id_fkey,
  add foreign key (tenant_id) references tenants (id) on delete cascade,
  add id         bigint generated always as identity,
  alter column valid_from set default clock_timestamp(),
  -- The assignment's own numbers: of a plan without numbers, and of a boost. Null for those of the version.
  alter column per_minute drop not null,
  alter column per_day drop not null,
  -- null: the plan's latest when the assignment begins
  add generation integer check (generation > 0),
  -- assign: made by staff. boost: the plan and generation of before with other numbers. end: what follows a temporary assignment or boost.
  add kind       text not null default 'assign' check (kind in ('assign', 'boost', 'end')),
  -- For an end: the assignment that it ends. They are removed together.
  add ends       bigint,
  add created_at timestamptz not null default now(),
  add created_by text not null default session_user,
  add voided_at   timestamptz check (isfinite(voided_at)),
  add void_reason text check (void_reason <> ''),
  add unique (id),
  add unique (tenant_id, id),
  add foreign key (tenant_id, ends) references tenant_plans (tenant_id, id) on delete cascade,
  add check ((kind = 'end') = (ends is not null)),
  add check (kind <> 'boost' or per_minute is not null),
  add check ((voided_at is null) = (void_reason is null)),
  add check ((per_minute is null) = (per_day is null)),
  add check (per_minute > 0 and per_minute <= per_day);

update tenant_plans a set created_at = a.valid_from, created_by = '',
  per_minute = case when (v.per_minute, v.per_day) = (a.per_minute, a.per_day) then null else a.per_minute end,
  per_day = case when (v.per_minute, v.per_day) = (a.per_minute, a.per_day) then null else a.per_day end
from plan_versions v where v.plan = a.plan;
-- What a tenant has now, if its history does not end with it: it has none, or somebody changed a number by SQL.
insert into tenant_plans (tenant_id, plan, per_minute, per_day, valid_from, created_by)
select t.id, t.plan, own.per_minute, own.per_day,
       case when h.valid_from is null then least(t.created_at, now()) else greatest(now(), h.valid_from + interval '1 microsecond') end, ''
from tenants t
join price_list l on l.name = t.plan
cross join lateral (select case when l.per_minute is null then t.per_minute end as per_minute, case when l.per_minute is null then t.per_day end as per_day) own
left join lateral (select * from tenant_plans a where a.tenant_id = t.id order by a.valid_from desc limit 1) h on true
where h.plan is distinct from t.plan or h.per_minute is distinct from own.per_minute or h.per_day is distinct from own.per_day;

drop trigger tenants_notify on tenants;
drop function find_caller;
-- Rights on columns that are dropped would stay.
revoke all on price_list from petstore_support, petstore_billing;
revoke all on tenant_plans from petstore_api, petstore_support, petstore_billing;
revoke insert (name, plan, per_minute, per_day, created_at), update (plan, per_minute, per_day, suspended_at) on tenants from petstore_support;
alter table tenant_plans drop column valid_to;
alter table price_list drop column per_minute, drop column per_day;
alter table tenants drop column plan, drop column per_minute, drop column per_day;

-- plans shows the numbers in force now. A change of the numbers is a version from now on.
create view plans as
select l.name, l.position, l.title, l.price, l.retires_at, v.version, v.per_minute, v.per_day
from price_list l
left join lateral (
  select * from plan_versions v where v.plan = l.name and v.valid_from <= now() order by v.valid_from desc limit 1
) v on true;

-- What was, is and will be in force for a tenant, at each instant one row, from valid_from up to valid_to, which is null for no end. All
-- that shows or decides by plans reads this.
create view quota_periods as
select a.tenant_id, a.id as assignment, v.version, v.generation, a.plan, a.kind, a.ends,
       coalesce(a.per_minute, v.per_minute) as per_minute, coalesce(a.per_day, v.per_day) as per_day,
       greatest(a.valid_from, v.valid_from) as valid_from, least(a.valid_to, v.valid_to) as valid_to,
       a.valid_from as assigned_from, a.valid_to as assigned_to, a.voided_at, a.void_reason
from (
  select a.*,
         (select min(n.valid_from) from tenant_plans n where n.tenant_id = a.tenant_id and n.valid_from > a.valid_from) as valid_to,
         coalesce(a.generation, (
           select max(v.generation) from plan_versions v where v.plan = a.plan and v.valid_from <= a.valid_from
         )) as of_generation
  from tenant_plans a
) a
join lateral (
  select v.*, (
           select min(n.valid_from) from plan_versions n
           where n.plan = v.plan and n.generation = v.generation and n.valid_from > v.valid_from
         ) as valid_to
  from plan_versions v
  where v.plan = a.plan and v.generation = a.of_generation and v.valid_from < coalesce(a.valid_to, 'infinity')
) v on v.valid_to is null or v.valid_to > a.valid_from;

-- The rules of versions.

create function check_plan_version() returns trigger language plpgsql as $$
declare
  last plan_versions;
begin
  perform from price_list where name = coalesce(new.plan, old.plan) for no key update;
  select * into last from plan_versions where plan = coalesce(new.plan, old.plan) order by version desc limit 1;
  if tg_op = 'UPDATE' or tg_op = 'DELETE' and (old.version = 1 or old.version < last.version) then
    raise exception 'a version of a plan is never changed, and only the last is removed before it begins: make another version'
      using errcode = 'check_violation', constraint = 'plan_versions_begun';
  end if;
  if tg_op = 'DELETE' then
    if old.valid_from <= past_until() + interval '2 seconds' then
      raise exception 'version % of plan % begins at % and can no longer be removed: make another version', old.version, old.plan, old.valid_from
        using errcode = 'check_violation', constraint = 'plan_versions_begun';
    end if;
    if exists (select from tenant_plans a where a.plan = old.plan and a.generation = old.generation)
       and not exists (select from plan_versions v where v.plan = old.plan and v.generation = old.generation and v.version < old.version) then
      raise exception 'scheduled assignments follow generation % of plan %', old.generation, old.plan
        using errcode = 'check_violation', constraint = 'plan_versions_followed';
    end if;
    return old;
  end if;

  new.created_at := now();
  new.created_by := session_user;
  if new.version <> coalesce(last.version, 0) + 1 or new.generation not in (coalesce(last.generation, 0), coalesce(last.generation, 0) + 1)
     or new.generation = 0 then
    raise exception 'version % of generation % does not follow version % of generation % of plan %',
      new.version, new.generation, coalesce(last.version, 0), coalesce(last.generation, 0), new.plan
      using errcode = 'check_violation', constraint = 'plan_versions_number';
  end if;
  if new.valid_from <= last.valid_from then
    raise exception 'version % of plan % begins at %, so another one begins later', last.version, new.plan, last.valid_from
      using errcode = 'check_violation', constraint = 'plan_versions_order';
  end if;
  if (new.per_minute is null) <> (last.per_minute is null) and last.version is not null then
    raise exception 'plan % has numbers of its own in all versions, or in none', new.plan
      using errcode = 'check_violation', constraint = 'plan_versions_numbers';
  end if;
  if new.valid_from < past_until() then
    raise exception 'a version of a plan does not begin in the past' using errcode = 'check_violation', constraint = 'plan_versions_past';
  end if;
  return new;
end $$;
create trigger plan_versions_check before insert or update or delete on plan_versions for each row execute function check_plan_version();

create function change_plans() returns trigger language plpgsql as $$
declare
  last plan_versions;
begin
  if tg_op = 'DELETE' then
    raise exception 'a plan is never removed: set retires_at' using errcode = 'object_not_in_prerequisite_state';
  end if;
  if tg_op = 'INSERT' then
    insert into price_list (name, position, title, price, retires_at)
    values (new.name, coalesce(new.position, (select max(l.position) + 1 from price_list l)), coalesce(new.title, ''), coalesce(new.price, ''), new.retires_at)
    returning position, title, price into new.position, new.title, new.price;
    new.version := 1;
    insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day)
    values (new.name, 1, 1, now(), new.per_minute, new.per_day);
    return new;
  end if;
  if new.name <> old.name then
    raise exception 'a plan keeps its name' using errcode = 'object_not_in_prerequisite_state';
  end if;
  if (new.position, new.title, new.price, new.retires_at) is distinct from (old.position, old.title, old.price, old.retires_at) then
    update price_list set position = new.position, title = new.title, price = new.price, retires_at = new.retires_at where name = new.name;
  end if;
  if (new.per_minute, new.per_day) is distinct from (old.per_minute, old.per_day) then
    perform from price_list where name = new.name for no key update;
    select * into last from plan_versions where plan = new.name order by version desc limit 1;
    new.version := last.version + 1;
    -- clock_timestamp: later than a change of the same transaction, or of one that this one waited for.
    insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day)
    values (new.name, new.version, last.generation, clock_timestamp(), new.per_minute, new.per_day);
  end if;
  return new;
end $$;
create trigger plans_change instead of insert or update or delete on plans for each row execute function change_plans();

-- The rules of assignments.

create function check_tenant_plan() returns trigger language plpgsql as $$
declare
  now_latest plan_versions;
begin
  if tg_op = 'UPDATE' then
    if (new.tenant_id, new.id, new.valid_from, new.plan, new.per_minute, new.per_day, new.generation, new.kind, new.ends, new.created_at, new.created_by)
       is distinct from
       (old.tenant_id, old.id, old.valid_from, old.plan, old.per_minute, old.per_day, old.generation, old.kind, old.ends, old.created_at, old.created_by) then
      raise exception 'an assignment is never changed: assign another plan' using errcode = 'check_violation', constraint = 'tenant_plans_begun';
    end if;
    return new;
  end if;
  if tg_op = 'DELETE' then
    -- The 2 seconds: no server counts under an assignment that is gone. A tenant that is erased takes its assignments with it.
    if old.valid_from <= past_until() + interval '2 seconds' and exists (select from tenants t where t.id = old.tenant_id) then
      raise exception 'assignment % begins at % and can no longer be removed: assign another plan', old.id, old.valid_from
        using errcode = 'check_violation', constraint = 'tenant_plans_begun';
    end if;
    return old;
  end if;

  new.created_at := now();
  new.created_by := session_user;
  if new.valid_from < past_until() then
    raise exception 'an assignment does not begin in the past' using errcode = 'check_violation', constraint = 'tenant_plans_past';
  end if;
  select * into now_latest from plan_versions v
  where v.plan = new.plan and v.valid_from <= new.valid_from and v.generation = coalesce(new.generation, v.generation)
  order by v.valid_from desc limit 1;
  if now_latest.plan is null then
    raise exception 'plan % has no numbers at %', new.plan, new.valid_from using errcode = 'check_violation', constraint = 'tenant_plans_generation';
  end if;
  if now_latest.per_minute is null and new.per_minute is null or now_latest.per_minute is not null and new.per_minute is not null and new.kind = 'assign' then
    raise exception 'an assignment has numbers of its own if its plan % has none', new.plan
      using errcode = 'check_violation', constraint = 'tenant_plans_numbers';
  end if;
  if new.kind = 'assign' and exists (select from price_list l where l.name = new.plan and l.retires_at <= new.valid_from) then
    raise exception 'plan % is retired: assign another plan', new.plan using errcode = 'check_violation', constraint = 'tenant_plans_retired';
  end if;
  return new;
end $$;
create trigger tenant_plans_check before insert or update or delete on tenant_plans for each row execute function check_tenant_plan();

-- Who was suspended when.
create table tenant_suspensions (
  tenant_id  bigint not null references tenants (id) on delete cascade,
  valid_from timestamptz not null,
  valid_to   timestamptz check (valid_to >= valid_from),
  primary key (tenant_id, valid_from)
);
insert into tenant_suspensions (tenant_id, valid_from) select id, suspended_at from tenants where suspended_at is not null;

create function note_suspension() returns trigger language plpgsql security definer as $$
begin
  if new.suspended_at is null then
    update tenant_suspensions s set valid_to = greatest(now(), s.valid_from) where s.tenant_id = new.id and s.valid_to is null;
  elsif tg_op = 'INSERT' or old.suspended_at is null then
    insert into tenant_suspensions (tenant_id, valid_from) values (new.id, new.suspended_at)
    on conflict (tenant_id, valid_from) do update set valid_to = null;
  end if;
  return null;
end $$;
create trigger tenants_suspension_new after insert on tenants for each row when (new.suspended_at is not null) execute function note_suspension();
create trigger tenants_suspension after update of suspended_at on tenants for each row
  when (new.suspended_at is distinct from old.suspended_at) execute function note_suspension();

-- Each change has an audit entry. Whoever writes it in the same transaction says so first: set_config('petstore.audited', 'on', true).
-- For all others a trigger writes it.

create function audit_by_trigger(action text, tenant bigint, subject text, before jsonb, after jsonb) returns void
language sql security definer as $$
  insert into audit_entries (claimed_actor, action, tenant_id, subject, before, after)
  select 'sql', action, tenant, subject, jsonb_strip_nulls(before), jsonb_strip_nulls(after)
  where current_setting('petstore.audited', true) is distinct from 'on'
$$;

create function audit_price_list() returns trigger language plpgsql security definer as $$
begin
  perform audit_by_trigger(case tg_op when 'INSERT' then 'plan.create' when 'UPDATE' then 'plan.edit' else 'plan.remove' end, null,
    'plan:' || case tg_op when 'DELETE' then old.name else new.name end,
    case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end $$;
create trigger price_list_audit after insert or update or delete on price_list for each row execute function audit_price_list();

create function audit_plan_version() returns trigger language plpgsql security definer as $$
begin
  perform audit_by_trigger(case tg_op when 'INSERT' then 'plan.edit' else 'plan.unschedule' end, null,
    'plan:' || case tg_op when 'DELETE' then old.plan else new.plan end,
    case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end $$;
create trigger plan_versions_audit after insert or update or delete on plan_versions for each row execute function audit_plan_version();

create function audit_tenant_plan() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'DELETE' and not exists (select from tenants t where t.id = old.tenant_id) then
    return null;
  end if;
  perform audit_by_trigger(case tg_op when 'INSERT' then 'plan.assign' when 'UPDATE' then 'plan.void' else 'plan.unschedule' end,
    case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end,
    'tenant:' || case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end,
    case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end $$;
create trigger tenant_plans_audit after insert or update or delete on tenant_plans for each row execute function audit_tenant_plan();

-- What servers hold in memory is dropped.
create trigger tenants_notify
  after update of suspended_at, name or delete on tenants
  for each row execute function notify_tenant();

create function notify_tenant_plan() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'tenant ' || case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end);
  return null;
end $$;
create trigger tenant_plans_notify after insert or update or delete on tenant_plans for each row execute function notify_tenant_plan();
create trigger plan_versions_notify after insert or update or delete on plan_versions for each statement execute function notify_all();

-- find_caller returns the caller with a key of that digest, and the ban in force at the instant that ends last. It has a row for what is
-- in force for the tenant at the instant, and one for each of up to four periods that follow. It finds one key, so that nobody lists the
-- digests of the others. plpgsql keeps its plans for the session.
create function find_caller(bytea, timestamptz)
returns table (
  id text, environment text, expires_at timestamptz, revoked boolean, key_per_minute bigint,
  tenant_id bigint, tenant text, suspended_at timestamptz, created_at timestamptz,
  assignment bigint, version integer, plan text, per_minute bigint, per_day bigint, valid_from timestamptz, valid_to timestamptz,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz
) language plpgsql stable security definer as $$
declare
  c     record;
  since timestamptz;
begin
  select k.id, k.environment, k.expires_at, k.revoked_at is not null as revoked, coalesce(k.per_minute, 0) as per_minute,
         t.id as tenant_id, t.name, t.suspended_at, t.created_at,
         b.id as ban_id, b.source, b.reason, b.starts_at, b.ends_at
  into c
  from api_keys k
  join tenants t on t.id = k.tenant_id
  left join lateral (
    select b.id, b.source, b.reason, b.starts_at, b.ends_at from bans b
    where b.key_id = k.id and b.lifted_at is null and b.ends_at > $2
    order by b.ends_at desc limit 1
  ) b on true
  where k.digest = $1;
  if not found then
    return;
  end if;
  -- Assignments of the past are not read.
  select max(a.valid_from) into since from tenant_plans a where a.tenant_id = c.tenant_id and a.valid_from <= $2;
  return query
    select c.id, c.environment, c.expires_at, c.revoked, c.per_minute, c.tenant_id, c.name, c.suspended_at, c.created_at,
           q.assignment, q.version, q.plan, q.per_minute, q.per_day, q.valid_from, q.valid_to,
           c.ban_id, c.source, c.reason, c.starts_at, c.ends_at
    from quota_periods q
    where q.tenant_id = c.tenant_id and q.assigned_from >= coalesce(since, '-infinity') and (q.valid_to is null or q.valid_to > $2)
    order by q.valid_from limit 5;
end $$;

-- Usage names the assignment and the version under which it was counted. What was recorded until now is given to the last assignment of
-- the row's plan that began before the end of its hour; if there is none, to what was in force then.
create table usage_by_assignment (
  tenant_id   bigint not null references tenants (id),
  hour        timestamptz not null,
  key_id      text not null references api_keys (id),
  assignment  bigint not null,
  version     integer not null,
  admitted    bigint not null,
  refused     bigint not null,
  -- The latest minute of the row's requests, how many of them it has, and how many the minute before has. Minutes are numbered as in
  -- limit_states.
  minute      bigint not null default 0,
  in_minute   bigint not null default 0,
  in_previous bigint not null default 0
);
insert into usage_by_assignment
select u.tenant_id, u.hour, u.key_id, a.id, 1, sum(u.admitted), sum(u.refused), max(u.minute), sum(u.in_minute), sum(u.in_previous)
from usage_hourly u
cross join lateral (
  select a.id from tenant_plans a where a.tenant_id = u.tenant_id
  order by (a.plan = u.plan)::int + (a.valid_from < u.hour + interval '1 hour')::int desc, a.plan = u.plan desc,
           case when a.valid_from < u.hour + interval '1 hour' then a.valid_from end desc nulls last, a.valid_from
  limit 1
) a
group by 1, 2, 3, 4;
drop table usage_hourly;
alter table usage_by_assignment rename to usage_hourly;
alter table usage_hourly rename constraint usage_by_assignment_tenant_id_fkey to usage_hourly_tenant_id_fkey;
alter table usage_hourly rename constraint usage_by_assignment_key_id_fkey to usage_hourly_key_id_fkey;
alter table usage_hourly add primary key (tenant_id, hour, key_id, assignment, version),
  -- With the tenant: a look for the usage of an assignment reads the rows of its tenant only.
  add foreign key (tenant_id, assignment) references tenant_plans (tenant_id, id);
create index usage_hourly_by_hour on usage_hourly (hour, tenant_id);

drop function add_usage;
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

-- A program cannot read an infinite time.
do $$
declare
  c text;
begin
  foreach c in array array['valid_from', 'valid_to'] loop
    execute format('alter table tenant_suspensions add constraint tenant_suspensions_%s_finite check (isfinite(%I))', c, c);
  end loop;
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

grant execute on function past_until to petstore_support, petstore_billing;
grant execute on function find_caller, add_usage to petstore_api;
-- The highest limit that a tenant had on a day, and what it used.
grant select (tenant_id, valid_from, valid_to, per_minute) on quota_periods to petstore_api;
grant select (tenant_id, hour, key_id, admitted, refused, minute, in_minute, in_previous) on usage_hourly to petstore_api;
grant select on price_list, plan_versions, plans, tenant_plans, quota_periods, tenant_suspensions, usage_hourly
  to petstore_support, petstore_billing;
grant insert (name, created_at), update (suspended_at) on tenants to petstore_support;
grant insert (tenant_id, valid_from, plan, per_minute, per_day, generation, kind, ends), delete on tenant_plans to petstore_support;
grant update (voided_at, void_reason) on tenant_plans to petstore_billing;
grant insert (name, position, title, price, retires_at), update (position, title, price, retires_at) on price_list to petstore_billing;
grant insert (plan, version, generation, valid_from, per_minute, per_day), delete on plan_versions to petstore_billing;
grant insert, update on plans to petstore_billing;
grant insert (claimed_actor, action, tenant_id, subject, before, after, reason) on audit_entries to petstore_billing;
