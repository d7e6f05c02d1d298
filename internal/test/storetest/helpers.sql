-- What tests use beside the migrations.

-- Tests write the past.
create or replace function past_until() returns timestamptz language sql stable as $$ select timestamptz '-infinity' $$;

-- test_tenant adds a tenant that has always been on the plan.
create function test_tenant(name text, plan text) returns bigint language plpgsql as $$
declare
  tenant bigint;
begin
  perform set_config('petstore.audited', 'on', true);
  insert into tenants (name, created_at) values (name, now()) returning id into tenant;
  insert into tenant_plans (tenant_id, plan, valid_from) values (tenant, plan, '2000-01-01Z');
  return tenant;
end $$;

-- test_key adds a key of a tenant, and returns its ID.
create function test_key(of_tenant bigint, word text) returns text language sql as $$
  insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
  values ('key_' || lpad(word, 16, '0'), of_tenant, 'live', sha256(convert_to(of_tenant || word, 'UTF8')), '0000', now()) returning id
$$;

-- test_usage adds usage under the tenant's last assignment of that plan that began before the end of the hour, or the first; or under a
-- new one from before all others.
create function test_usage(of_tenant bigint, at_hour timestamptz, of_key text, on_plan text, admits bigint, refuses bigint) returns void
language plpgsql as $$
declare
  chosen bigint;
begin
  perform set_config('petstore.audited', 'on', true);
  select a.id into chosen from tenant_plans a where a.tenant_id = of_tenant and a.plan = on_plan
  order by a.valid_from < at_hour + interval '1 hour' desc, case when a.valid_from < at_hour + interval '1 hour' then a.valid_from end desc,
           a.valid_from limit 1;
  if not found then
    insert into tenant_plans (tenant_id, plan, valid_from)
    select of_tenant, on_plan, min(valid_from) - interval '1 year' from tenant_plans where tenant_id = of_tenant returning id into chosen;
  end if;
  insert into usage_hourly as u (tenant_id, hour, key_id, assignment, version, admitted, refused)
  select of_tenant, at_hour, of_key, chosen, q.version, admits, refuses from quota_periods q where q.tenant_id = of_tenant and q.assignment = chosen
  order by q.valid_from < at_hour + interval '1 hour' desc, case when q.valid_from < at_hour + interval '1 hour' then q.valid_from end desc,
           q.valid_from limit 1
  on conflict (tenant_id, hour, key_id, assignment, version) do update
  set admitted = u.admitted + excluded.admitted, refused = u.refused + excluded.refused;
end $$;
