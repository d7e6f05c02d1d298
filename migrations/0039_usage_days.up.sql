-- Usage has a partition for each month, so that a month of hours can be summed into days and then be dropped whole. What was recorded until
-- now is the first partition, up to the end of next month. Nothing is copied: the tables are locked for some milliseconds.

-- Rows refer to tenants and assignments that add_usage has found, without foreign keys: making a partition would lock their tables. What
-- has begun of a timeline is not removed anyway.
alter table usage_hourly drop constraint usage_hourly_tenant_id_fkey, drop constraint usage_hourly_tenant_id_assignment_fkey;

-- The partitions of usage_hourly, and how far the hours of each are summed into days. Those with rolled_at are dropped.
create table usage_partitions (
  name        text primary key,
  -- null: all that is earlier
  begins      timestamptz,
  ends        timestamptz not null,
  -- The first tenant and hour that are not yet summed; null before the first and after the last.
  next_tenant bigint,
  next_hour   timestamptz,
  -- What is summed so far: rows of hours, rows of days, and their requests.
  hours       bigint not null default 0,
  days        bigint not null default 0,
  admitted    numeric not null default 0,
  refused     numeric not null default 0,
  begun_at    timestamptz,
  summed_at   timestamptz,
  rolled_at   timestamptz
);

drop trigger usage_hourly_closed_insert on usage_hourly;
drop trigger usage_hourly_closed_update on usage_hourly;
drop trigger usage_hourly_closed_delete on usage_hourly;
drop trigger usage_hourly_closed_truncate on usage_hourly;
drop trigger usage_hourly_activity on usage_hourly;
do $$
declare
  bound timestamptz := (
    select obj_description(oid, 'pg_constraint') from pg_constraint where conrelid = 'usage_hourly'::regclass and conname = 'usage_hourly_bound');
  name  text := 'usage_hourly_until_' || to_char(bound at time zone 'UTC' - interval '1 month', 'YYYY_MM');
begin
  execute format('alter table usage_hourly rename to %I', name);
  execute format('alter index usage_hourly_pkey rename to %I', name || '_pkey');
  execute format('alter index usage_hourly_by_hour rename to %I', name || '_by_hour');
  execute format('create table usage_hourly (like %I including defaults) partition by range (hour)', name);
  execute format('alter table usage_hourly attach partition %I for values from (minvalue) to (%L)', name, bound);
  execute format('alter table %I drop constraint usage_hourly_bound', name);
  insert into usage_partitions (name, ends) values (name, bound);
end $$;
-- Of an hour for which there is no partition yet.
alter table usage_hourly attach partition usage_hourly_default default;
alter table usage_hourly add primary key (tenant_id, hour, key_id, assignment, version);
create index usage_hourly_by_hour on usage_hourly (hour, tenant_id);
create trigger usage_hourly_closed_insert after insert on usage_hourly referencing new table as added
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_update after update on usage_hourly referencing old table as removed new table as added
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_delete after delete on usage_hourly referencing old table as removed
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_truncate before truncate on usage_hourly for each statement execute function check_closed_usage();
create trigger usage_hourly_activity after insert on usage_hourly referencing new table as added
  for each statement execute function note_tenant_activity();

-- add_usage_partitions makes the partitions of the months to come, up to the third after this one, and returns how many. They exist long
-- before their month begins, and get the rows that were recorded before. It does nothing while somebody reads or writes usage for longer
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

-- The hours of closed months, summed by UTC day: day is its first instant. A month is in usage_hourly or here.
create table usage_daily (
  tenant_id  bigint not null,
  day        timestamptz not null,
  key_id     text not null,
  assignment bigint not null,
  version    integer not null,
  admitted   bigint not null,
  refused    bigint not null,
  primary key (tenant_id, day, key_id, assignment, version)
) partition by range (day);
create index usage_daily_by_day on usage_daily (day, tenant_id);

create function refuse_daily_usage() returns trigger language plpgsql as $$
begin
  raise exception 'the usage of a closed month is never changed: what arrives late corrects it in the next'
    using errcode = 'check_violation', constraint = 'usage_months_closed';
end $$;
create trigger usage_daily_check before insert or update or delete or truncate on usage_daily
  for each statement execute function refuse_daily_usage();

-- What was recorded before its month was closed: by hour, and what is summed by day under the first hour of the day.
create view usage_in_time as
select tenant_id, hour, key_id, assignment, version, admitted, refused, false as by_day from usage_hourly
union all
select tenant_id, day, key_id, assignment, version, admitted, refused, true from usage_daily;

-- Up to when usage is summed by day; null if none is.
create function by_day_until() returns timestamptz language sql stable as $$
  select max(p.ends) from usage_partitions p where p.rolled_at is not null
$$;

create or replace view usage_recorded as
select tenant_id, hour, key_id, assignment, version, admitted, refused from usage_in_time
union all
select tenant_id, hour, key_id, assignment, version, admitted, refused from usage_late;

create or replace view usage_arrived as
select tenant_id, hour, hour as counted_at, key_id, assignment, version, admitted, refused from usage_in_time
union all
select tenant_id, hour, least(date_trunc('hour', arrived_at at time zone 'UTC'), month + interval '1 month' - interval '1 hour') at time zone 'UTC',
       key_id, assignment, version, admitted, refused
from usage_late;

do $$
begin
  execute format('alter function add_usage_partitions set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;
select add_usage_partitions();

grant select (tenant_id, hour, key_id, admitted, refused, minute, in_minute, in_previous) on usage_hourly to petstore_api;
grant select on usage_hourly, usage_daily, usage_in_time, usage_partitions to petstore_support, petstore_billing;
grant execute on function add_usage_partitions to petstore_api;
grant execute on function by_day_until to petstore_support, petstore_billing;
