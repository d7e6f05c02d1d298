-- Plans, tenants and who had which plan when. Small tables: fit to be copied to every node.

create table plans (
  name       text primary key,
  position   smallint not null unique,
  -- Both numbers, or neither: a plan without numbers takes them from each of its tenants.
  per_minute bigint check (per_minute > 0),
  per_day    bigint check (per_day > 0),
  check ((per_minute is null) = (per_day is null)),
  check (per_minute <= per_day)
);

insert into plans (name, position, per_minute, per_day) values
  ('free',       1,   60,   1000),
  ('pro',        2,  300,  10000),
  ('business',   3, 1000, 100000),
  ('enterprise', 4, null,   null);

create table tenants (
  id           bigint generated always as identity primary key,
  name         text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  plan         text not null references plans (name),
  per_minute   bigint check (per_minute > 0),
  per_day      bigint check (per_day > 0),
  suspended_at timestamptz,
  created_at   timestamptz not null,
  check ((per_minute is null) = (per_day is null)),
  check (per_minute <= per_day)
);

create table tenant_plans (
  tenant_id  bigint not null references tenants (id),
  valid_from timestamptz not null,
  valid_to   timestamptz,
  plan       text not null references plans (name),
  per_minute bigint not null,
  per_day    bigint not null,
  primary key (tenant_id, valid_from)
);

-- What servers hold in memory is dropped by a notice sent in the changing transaction itself.
-- A trigger sends it, so that no writer can forget to, not even somebody in psql.
create function notify_tenant() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'tenant ' || coalesce(new.id, old.id));
  return null;
end $$;

create trigger tenants_notify
  after update of plan, per_minute, per_day, suspended_at, name or delete on tenants
  for each row execute function notify_tenant();

create function notify_all() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'all');
  return null;
end $$;

create trigger plans_notify
  after update or delete on plans
  for each statement execute function notify_all();

-- The role in which the API works: it holds only the rights granted in these files, and is bound by row-level
-- security. Roles belong to the cluster, so another database's migration may have made it, even in this instant.
do $$
begin
  if not exists (select from pg_roles where rolname = 'petstore_api') then
    create role petstore_api nologin;
  end if;
exception when duplicate_object or unique_violation then
  null;
end $$;

do $$
begin
  if not pg_has_role(current_user, 'petstore_api', 'member') then
    execute format('grant petstore_api to %I', current_user);
  end if;
end $$;

grant select on plans, tenants to petstore_api;
