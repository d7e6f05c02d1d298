-- The last UTC day for which usage of a tenant was recorded in time: so tenants without any in the last weeks are found without a look at
-- the usage of all others. It is written when a row of usage_hourly is new, at most once a tenant and day, and is never too late: who
-- needs to know whether there is no usage since an instant looks at usage_hourly where this says that there may be none.
--
-- It is a table of its own because staff change rows of tenants, and each change of those tells the servers.
create table tenant_activity (
  tenant_id bigint primary key,
  last_day  date not null
);
insert into tenant_activity (tenant_id, last_day)
select t.id, (u.hour at time zone 'UTC')::date
from tenants t
cross join lateral (select u.hour from usage_hourly u where u.tenant_id = t.id order by u.hour desc limit 1) u;
alter table tenant_activity add foreign key (tenant_id) references tenants (id) on delete cascade;
create index tenant_activity_by_day on tenant_activity (last_day, tenant_id);
grant select on tenant_activity to petstore_support, petstore_billing;

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
