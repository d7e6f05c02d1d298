lock table tenants, plan_versions, tenant_plans, usage_hourly, servers, cluster_term, limit_states in access exclusive mode;
-- A tenant's admitted requests of a UTC month: the sum of its rows of usage_hourly whose assignment and version have a month. A row is made with
-- the tenant's first such usage of the month, so nothing is read now.
create table tenant_months (
  tenant_id bigint not null references tenants(id) on delete cascade,
  month     date   not null check (extract(day from month) = 1),
  admitted  bigint not null,
  constraint tenant_months_pkey primary key (tenant_id, month)
) with (fillfactor=70);

-- count_in_months adds to the tenants' months what was added to usage_hourly. A missing row begins with the sum of its hours: usage that is not
-- committed yet is not in it, and is added when its transaction has waited for the row. Rows are locked in one order.
create function count_in_months(tenants bigint[], hours timestamptz[], assignments bigint[], versions integer[], counts bigint[])
returns void language plpgsql as $$
declare
  ids    bigint[];
  months date[];
  sums   bigint[];
begin
  select array_agg(s.id), array_agg(s.month), array_agg(s.n) into ids, months, sums
  from (
    select c.id, c.month, sum(c.n)::bigint as n
    from (
      select u.id, u.assignment, u.version, date_trunc('month', u.hour at time zone 'UTC')::date as month, sum(u.n) as n
      from unnest(tenants, hours, assignments, versions, counts) as u (id, hour, assignment, version, n) group by 1, 2, 3, 4
    ) c
    join tenant_plans a on a.tenant_id = c.id and a.id = c.assignment
    join plan_versions v on v.plan = a.plan and v.version = c.version
    where coalesce(a.month, v.month) = 'some'
    group by 1, 2
  ) s;
  if ids is null then
    return;
  end if;
  insert into tenant_months (tenant_id, month, admitted)
  select c.id, c.month, coalesce((
      select sum(u.admitted) from usage_hourly u
      join tenant_plans a on a.tenant_id = u.tenant_id and a.id = u.assignment
      join plan_versions v on v.plan = a.plan and v.version = u.version
      where u.tenant_id = c.id and u.hour >= c.month::timestamp at time zone 'UTC' and u.hour < (c.month + interval '1 month') at time zone 'UTC'
        and coalesce(a.month, v.month) = 'some'), 0) - c.n
  from unnest(ids, months, sums) as c (id, month, n)
  where not exists (select from tenant_months m where m.tenant_id = c.id and m.month = c.month)
  order by c.id, c.month
  on conflict do nothing;
  perform from tenant_months m join unnest(ids, months) as c (id, month) on m.tenant_id = c.id and m.month = c.month
  order by m.tenant_id, m.month for no key update of m;
  update tenant_months m set admitted = m.admitted + c.n
  from unnest(ids, months, sums) as c (id, month, n)
  where m.tenant_id = c.id and m.month = c.month and c.n <> 0;
end $$;

create function count_added_usage() returns trigger language plpgsql as $$
begin
  perform count_in_months(array_agg(u.tenant_id), array_agg(u.hour), array_agg(u.assignment), array_agg(u.version), array_agg(u.admitted)) from added u;
  return null;
end $$;
create function count_changed_usage() returns trigger language plpgsql as $$
begin
  perform count_in_months(array_agg(u.tenant_id), array_agg(u.hour), array_agg(u.assignment), array_agg(u.version), array_agg(u.n))
  from (
    select a.tenant_id, a.hour, a.assignment, a.version, a.admitted as n from added a
    union all select b.tenant_id, b.hour, b.assignment, b.version, -b.admitted from removed b
  ) u;
  return null;
end $$;
create function count_removed_usage() returns trigger language plpgsql as $$
begin
  perform count_in_months(array_agg(u.tenant_id), array_agg(u.hour), array_agg(u.assignment), array_agg(u.version), array_agg(-u.admitted)) from removed u;
  return null;
end $$;
create trigger usage_hourly_added after insert on usage_hourly referencing new table as added
  for each statement execute function count_added_usage();
create trigger usage_hourly_changed after update on usage_hourly referencing old table as removed new table as added
  for each statement execute function count_changed_usage();
create trigger usage_hourly_removed after delete on usage_hourly referencing old table as removed
  for each statement execute function count_removed_usage();

-- One batch of usage runs several of these triggers, each for some of its tenants. So that two servers never wait for each other, add_usage locks
-- the months of all of them first.
do $$
declare
  was     constant text := pg_get_functiondef('add_usage'::regproc);
  becomes constant text := replace(was, E'  if closed > any (hours) then\n', $sql$  -- See count_in_months.
  perform count_in_months(tenants, array(select to_timestamp(least(greatest(h, 0), 253402300799)) from unnest(hours) with ordinality o (h, i) order by i),
    assignments, versions, array_fill(0::bigint, array[cardinality(tenants)]));

  if closed > any (hours) then
$sql$);
begin
  if was = becomes then
    raise exception 'add_usage is another function than expected';
  end if;
  execute becomes;
end $$;

alter table limit_states add column month bigint not null default 0, add column month_used bigint not null default 0;

-- check_limits is that of 0008, with the month.
create or replace function check_limits() returns trigger language plpgsql as $$
begin
  if new.term < old.term or new.term > old.term and new.term > (select number from cluster_term)
     or new.term = old.term and (new.minute < old.minute or new.day < old.day or new.month < old.month)
     or greatest(new.minute * 60 * (new.minute > old.minute)::int, new.day * 86400 * (new.day > old.day)::int) - 60 > extract(epoch from clock_timestamp())
     or new.month > old.month and timestamp '1970-01-01' + new.month * interval '1 month' > clock_timestamp() at time zone 'UTC' + interval '1 minute' then
    raise exception 'terms and windows of limits only move forward, to the current ones' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
drop trigger limit_states_check on limit_states;
create trigger limit_states_check before update on limit_states for each row
  when (new.term <> old.term or new.minute <> old.minute or new.day <> old.day or new.month <> old.month) execute function check_limits();

-- Programs of the last release count no months. While one of their servers lives, no server enforces months (cluster.Term.NoMonths).
alter table servers add column months boolean not null default false;
alter table cluster_term add column months boolean not null default false;
alter type cluster_state add attribute months boolean, add attribute know_months boolean[];

create or replace function read_cluster() returns cluster_state language sql volatile as $$
  select t.number, t.active, t.redis, t.sole, t.unclean_until, t.servers, t.first, t.set_back, t.not_before, t.origin,
    database_name(), clock_timestamp(), s.ids, s.seen, s.reached, s.acked, s.leases, t.months, s.know_months
  from cluster_term t, (
    select coalesce(array_agg(o.id), '{}') as ids, coalesce(array_agg((extract(epoch from o.seen_at) * 1000000)::bigint), '{}') as seen,
      coalesce(array_agg(o.redis), '{}') as reached, coalesce(array_agg(o.acked), '{}') as acked,
      coalesce(array_agg(o.lease::bigint), '{}') as leases, coalesce(array_agg(o.months), '{}') as know_months
    from (select * from servers order by id collate "C") o
  ) s
$$;

-- This renew_server also says whether the server knows months.
create function renew_server(
  server text, reaches text, acknowledges bigint, takes integer, sequence_number bigint, knows_months boolean,
  out cluster cluster_state, out was servers, out renewed boolean
) language plpgsql as $$
declare
  r record;
begin
  select * into r from renew_server(server, reaches, acknowledges, takes, sequence_number);
  cluster := r.cluster;
  was := r.was;
  renewed := r.renewed;
  if was.months is distinct from knows_months then
    update servers s set months = knows_months where s.id = server;
  end if;
end $$;

-- Nobody gets a month that such a server would not enforce. The triggers of 0021 fire later, by their names: they add what is as before.
create function refuse_month() returns trigger language plpgsql as $$
begin
  if exists (select from servers s where not s.months and s.seen_at > clock_timestamp() - interval '5 seconds') then
    raise exception 'no month is enforced while a server of the last release is alive' using errcode = 'check_violation', constraint = 'servers_months';
  end if;
  return new;
end $$;
create trigger plan_versions_last_release before insert on plan_versions for each row when (new.month = 'some') execute function refuse_month();
create trigger tenant_plans_last_release before insert on tenant_plans for each row when (new.month = 'some') execute function refuse_month();

grant select on tenant_months to petstore_api, petstore_billing, petstore_support;
grant update (month, month_used) on limit_states to petstore_api;
grant update (months) on servers, cluster_term to petstore_api;
grant execute on function renew_server(text, text, bigint, integer, bigint, boolean) to petstore_api;
-- why says how many servers ended silently in a month.
grant select (server_id, written_at) on usage_writers to petstore_support;
