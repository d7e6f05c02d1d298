-- The rows are copied back to one table. Days stay as they are, under their first hour.
-- Nothing is recorded between the copy and the exchange.
lock table usage_hourly, usage_daily in access exclusive mode;

create or replace view usage_arrived as
select null::bigint as tenant_id, null::timestamptz as hour, null::timestamptz as counted_at, null::text as key_id, null::bigint as assignment,
       null::integer as version, null::bigint as admitted, null::bigint as refused;
create or replace view usage_recorded as
select null::bigint as tenant_id, null::timestamptz as hour, null::text as key_id, null::bigint as assignment, null::integer as version,
       null::bigint as admitted, null::bigint as refused;

create table usage_whole (like usage_hourly including defaults);
insert into usage_whole select * from usage_hourly;
insert into usage_whole (tenant_id, hour, key_id, assignment, version, admitted, refused) select tenant_id, day, key_id, assignment, version, admitted, refused from usage_daily;

drop view usage_in_time;
drop function add_usage_partitions;
drop function by_day_until;
drop table usage_daily;
drop function refuse_daily_usage;
-- What is summed, and not yet shown.
do $$
declare
  p record;
begin
  for p in select name from usage_partitions where rolled_at is null and begun_at is not null loop
    execute format('drop table if exists %I', replace(p.name, 'hourly', 'daily'));
  end loop;
end $$;
drop table usage_partitions;
drop table usage_hourly;
alter table usage_whole rename to usage_hourly;
alter table usage_hourly add primary key (tenant_id, hour, key_id, assignment, version);
create index usage_hourly_by_hour on usage_hourly (hour, tenant_id);

create or replace view usage_recorded as
select tenant_id, hour, key_id, assignment, version, admitted, refused from usage_hourly
union all
select tenant_id, hour, key_id, assignment, version, admitted, refused from usage_late;
create or replace view usage_arrived as
select tenant_id, hour, hour as counted_at, key_id, assignment, version, admitted, refused from usage_hourly
union all
select tenant_id, hour, least(date_trunc('hour', arrived_at at time zone 'UTC'), month + interval '1 month' - interval '1 hour') at time zone 'UTC',
       key_id, assignment, version, admitted, refused
from usage_late;

alter table usage_hourly add foreign key (tenant_id) references tenants (id), add foreign key (tenant_id, assignment) references tenant_plans (tenant_id, id);

create trigger usage_hourly_closed_insert after insert on usage_hourly referencing new table as added
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_update after update on usage_hourly referencing old table as removed new table as added
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_delete after delete on usage_hourly referencing old table as removed
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_truncate before truncate on usage_hourly for each statement execute function check_closed_usage();
create trigger usage_hourly_activity after insert on usage_hourly referencing new table as added
  for each statement execute function note_tenant_activity();
grant select (tenant_id, hour, key_id, admitted, refused, minute, in_minute, in_previous) on usage_hourly to petstore_api;
grant select on usage_hourly to petstore_support, petstore_billing;

create table usage_hourly_default (like usage_hourly including defaults including indexes);
do $$
declare
  bound constant text := to_char((date_trunc('month', now() at time zone 'UTC') + interval '2 months'), 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
begin
  execute format('insert into usage_hourly_default select * from usage_hourly where hour >= %L', bound);
  alter table usage_hourly disable trigger user;
  execute format('delete from usage_hourly where hour >= %L', bound);
  alter table usage_hourly enable trigger user;
  execute format('alter table usage_hourly add constraint usage_hourly_bound check (hour < %L)', bound);
  execute format('comment on constraint usage_hourly_bound on usage_hourly is %L', bound);
end $$;
