-- What billing reads: requests by tenant, hour, key and the plan that was in force.

create table usage_hourly (
  tenant_id bigint not null references tenants (id),
  hour      timestamptz not null,
  key_id    text not null references api_keys (id),
  plan      text not null references plans (name),
  admitted  bigint not null,
  refused   bigint not null,
  primary key (tenant_id, hour, key_id, plan)
);

create index usage_hourly_by_hour on usage_hourly (hour, tenant_id);

-- The last batch that each server wrote: a batch sent again after a lost reply is recognised and not added twice.
create table usage_writers (
  server_id  text primary key,
  batch      bigint not null,
  written_at timestamptz not null
);

grant select, insert, update on usage_hourly to petstore_api;
grant select, insert, update, delete on usage_writers to petstore_api;
