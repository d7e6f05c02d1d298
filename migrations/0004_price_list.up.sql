lock table tenants in share row exclusive mode;
-- Plans have versions, a tenant's plan is a timeline, and usage names the assignment and the version under which it was counted.
create table price_list (
  name       text,
  position   smallint    not null,
  title      text        not null default '',
  price      text        not null default '',
  created_at timestamptz not null default now() check (isfinite(created_at)),
  -- From this instant on the plan is not assigned to new tenants; null for a plan that is sold.
  retires_at timestamptz check (isfinite(retires_at)),
  -- The plan is made for one customer and not shown to others.
  unlisted   boolean     not null default false,
  constraint plans_pkey primary key (name),
  constraint plans_position_key unique ("position")
);

-- The numbers of a plan from an instant on. A version ends when the next one of its generation begins. An edit that leaves existing tenants
-- their numbers begins a generation. An assignment follows only the versions of one generation: the one that it names, or the plan's latest
-- when the assignment begins. A version that has begun is never changed or removed.
create table plan_versions (
  plan       text        not null references price_list(name),
  version    integer     not null check (version > 0),
  generation integer     not null check (generation > 0),
  valid_from timestamptz not null check (isfinite(valid_from)),
  -- Both numbers, or neither: a plan without numbers takes them from each assignment.
  per_minute bigint      check (per_minute > 0),
  per_day    bigint      check (per_day > 0),
  created_at timestamptz not null default now(),
  created_by text        not null default session_user,
  constraint plan_versions_pkey primary key (plan, version),
  constraint plan_versions_check check ((per_minute is null) = (per_day is null)),
  constraint plan_versions_check1 check (per_minute <= per_day),
  constraint plan_versions_plan_valid_from_key unique (plan, valid_from)
);
create index plan_versions_by_generation on plan_versions (plan, generation, valid_from);
insert into price_list (name, position) values ('free', 1), ('pro', 2), ('business', 3), ('enterprise', 4);
insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day) values
  ('free',       1, 1, timestamptz '1970-01-01Z',   60,   1000),
  ('pro',        1, 1, timestamptz '1970-01-01Z',  300,  10000),
  ('business',   1, 1, timestamptz '1970-01-01Z', 1000, 100000),
  ('enterprise', 1, 1, timestamptz '1970-01-01Z', null,   null);

create table tenant_plans (
  tenant_id        bigint      not null references tenants(id) on delete cascade,
  valid_from       timestamptz not null default clock_timestamp() constraint tenant_plans_valid_from_finite check (isfinite(valid_from)),
  plan             text        not null references price_list(name),
  per_minute       bigint,
  per_day          bigint      check (per_day > 0),
  id               bigint      not null generated always as identity unique,
  -- null for the plan's latest when the assignment begins
  generation       integer     check (generation > 0),
  -- assign: made by staff. boost: keeps the plan and generation, with other numbers. end: follows a temporary assignment or boost.
  kind             text        not null default 'assign' check (kind in ('assign', 'boost', 'end')),
  -- For an end: the assignment that it ends. They are removed together.
  ends             bigint,
  created_at       timestamptz not null default now(),
  created_by       text        not null default session_user,
  voided_at        timestamptz check (isfinite(voided_at)),
  void_reason      text        check (void_reason <> ''),
  -- When a temporary assignment or a boost ends by itself. Its end may not be in the timeline, if another assignment begins before.
  until            timestamptz,
  -- The plan that follows; null for the one in force before.
  then_plan        text        references price_list(name),
  named_per_minute bigint      check (named_per_minute > 0),
  named_per_day    bigint      check (named_per_day > 0),
  constraint tenant_plans_pkey primary key (tenant_id, valid_from),
  constraint tenant_plans_tenant_id_id_key unique (tenant_id, id),
  constraint tenant_plans_check check ((kind = 'end') = (ends is not null)),
  constraint tenant_plans_check2 check ((voided_at is null) = (void_reason is null)),
  constraint tenant_plans_check1 check (isfinite(until) and until > valid_from),
  constraint tenant_plans_check3 check (then_plan is null or until is not null),
  constraint tenant_plans_boost_check check (kind <> 'boost' or per_minute is not null or per_day is not null),
  constraint tenant_plans_numbers_check check (kind <> 'assign' or (per_minute is null) = (per_day is null)),
  constraint tenant_plans_minute_check check (per_minute > 0 and (kind <> 'assign' or per_minute <= per_day)),
  constraint tenant_plans_tenant_id_ends_fkey foreign key (tenant_id, ends) references tenant_plans(tenant_id, id) on delete cascade
);
create index tenant_plans_void on tenant_plans (voided_at) where voided_at is not null;
create index tenant_plans_by_plan on tenant_plans (plan, tenant_id);
create index tenant_plans_by_start on tenant_plans (valid_from);

-- When tenants were suspended.
create table tenant_suspensions (
  tenant_id  bigint      not null references tenants(id) on delete cascade,
  valid_from timestamptz not null constraint tenant_suspensions_valid_from_finite check (isfinite(valid_from)),
  valid_to   timestamptz constraint tenant_suspensions_valid_to_finite check (isfinite(valid_to)),
  constraint tenant_suspensions_pkey primary key (tenant_id, valid_from),
  constraint tenant_suspensions_check check (valid_to >= valid_from)
);

-- plans shows the numbers now in force. A change of its numbers makes a version that begins now.
create view plans as
select l.name, l.position, l.title, l.price, l.retires_at, v.version, v.per_minute, v.per_day, l.unlisted
from price_list l
left join lateral (
  select * from plan_versions v where v.plan = l.name and v.valid_from <= now() order by v.valid_from desc limit 1
) v on true;

-- quota_periods has each tenant's past and future periods. plan_per_minute and plan_per_day are the plan's own numbers, which a boost changes. The
-- aggregates are lateral joins, and so computed once for each row. As subqueries in the list of columns they would be computed for each use.
create view quota_periods as
select a.tenant_id, a.id as assignment, v.version, v.generation, a.plan, a.kind, a.ends,
       coalesce(a.per_minute, v.per_minute) as per_minute, coalesce(a.per_day, v.per_day) as per_day,
       greatest(a.valid_from, v.valid_from) as valid_from, least(ended.at, replaced.at) as valid_to,
       a.valid_from as assigned_from, ended.at as assigned_to, a.voided_at, a.void_reason,
       v.per_minute as plan_per_minute, v.per_day as plan_per_day
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
where replaced.at is null or replaced.at > a.valid_from;

-- Versions and assignments that began before this instant are never changed or removed. Tests replace the function to make a past.
create function past_until() returns timestamptz language sql stable as 'select now()';

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
    insert into price_list (name, position, title, price, retires_at, unlisted)
    values (new.name, coalesce(new.position, (select max(l.position) + 1 from price_list l)), coalesce(new.title, ''), coalesce(new.price, ''),
      new.retires_at, coalesce(new.unlisted, false))
    returning position, title, price, unlisted into new.position, new.title, new.price, new.unlisted;
    new.version := 1;
    insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day)
    values (new.name, 1, 1, now(), new.per_minute, new.per_day);
    return new;
  end if;
  if new.name <> old.name then
    raise exception 'a plan keeps its name' using errcode = 'object_not_in_prerequisite_state';
  end if;
  if (new.position, new.title, new.price, new.retires_at, new.unlisted) is distinct from
     (old.position, old.title, old.price, old.retires_at, old.unlisted) then
    update price_list set position = new.position, title = new.title, price = new.price, retires_at = new.retires_at, unlisted = new.unlisted
    where name = new.name;
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

-- A retired plan is not assigned to new tenants. A tenant that was on it in the last 30 days may come back to it.
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
  if new.kind = 'assign' and exists (select from price_list l where l.name = new.plan and l.retires_at <= new.valid_from)
     and not exists (
       select from tenant_plans a
       where a.tenant_id = new.tenant_id and a.plan = new.plan and a.valid_from < new.valid_from and not exists (
         select from tenant_plans n
         where n.tenant_id = a.tenant_id and n.valid_from > a.valid_from and n.valid_from < new.valid_from - interval '30 days')
     ) then
    raise exception 'plan % is retired: assign another plan', new.plan using errcode = 'check_violation', constraint = 'tenant_plans_retired';
  end if;
  return new;
end $$;
create trigger tenant_plans_check before insert or update or delete on tenant_plans for each row execute function check_tenant_plan();

create function notify_tenant_plan() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'tenant ' || case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end);
  return null;
end $$;
create trigger tenant_plans_notify after insert or update or delete on tenant_plans for each row execute function notify_tenant_plan();

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

create trigger plan_versions_notify after insert or update or delete on plan_versions for each statement execute function notify_all();

grant insert (name, position, title, price, retires_at, unlisted), select, update (position, title, price, retires_at, unlisted) on price_list to petstore_billing;
grant select on price_list, plan_versions, tenant_suspensions, plans, quota_periods to petstore_support;
grant select on tenant_suspensions, quota_periods to petstore_billing;
grant delete, select, insert (plan, version, generation, valid_from, per_minute, per_day) on plan_versions to petstore_billing;
grant select, update (voided_at, void_reason) on tenant_plans to petstore_billing;
grant delete, select, insert (tenant_id, valid_from, plan, per_minute, per_day, generation, kind, ends, until, then_plan, named_per_minute,
  named_per_day), update (until, then_plan) on tenant_plans to petstore_support;
grant select (name, position, title, retires_at, version, per_minute, per_day, unlisted) on plans to petstore_api;
grant insert, select, update on plans to petstore_billing;
grant select (tenant_id, per_minute, valid_from, valid_to) on quota_periods to petstore_api;
grant execute on function past_until to petstore_billing, petstore_support;
