-- Tenants, keys, bans, failed requests, usage and audit entries, as many as the settings bench.keys and bench.entries say. All is
-- computed from the rows' numbers, so each run makes the same. Indexes are made afterwards, which is faster; triggers do not fire.
set session_replication_role = replica;
set maintenance_work_mem = '512MB';
set synchronous_commit = off;

create function pg_temp.pick(n bigint, seed bigint, size bigint) returns bigint language sql immutable
return (hashint8extended(n, seed) & 9223372036854775807) % size;
create function pg_temp.key_id(n bigint) returns text language sql immutable
return 'key_' || substr(md5(n::text), 1, 16);
-- Ten keys each.
create function pg_temp.tenant_of(n bigint) returns bigint language sql immutable
return (n - 1) / 10 + 1;

-- Indexes that are no constraints are made when the tables are full, those of partitioned tables with the ones of the partitions.
create temporary table indexes as
select format('%I', i.indexname) as name, replace(i.indexdef, ' ON ONLY ', ' ON ') as definition from pg_indexes i
where i.schemaname = current_schema() and i.tablename in ('tenants', 'api_keys', 'bans', 'failed_requests', 'usage_hourly', 'audit_entries')
  and not exists (select from pg_constraint c where c.conname = i.indexname);
do $$
declare
  name text;
begin
  for name in select i.name from indexes i loop
    execute 'drop index ' || name;
  end loop;
end $$;

create temporary table words as
select array['acme','globex','umbrella','initech','hooli','stark','wayne','wonka','cyberdyne','soylent','tyrell','aperture','massive',
  'vandelay','oscorp','monarch','gringotts','duff','zorg','virtucon'] as names,
  array['pets','zoo','farm','vets','birds','shop','aquatics','kennels','labs','care'] as trades,
  array['ci','import','nightly import','mobile app','website','warehouse','partner','test','backoffice','reports'] as keys;

insert into tenants (id, name, created_at, suspended_at, billing_ref, email) overriding system value
select i, names[1 + pg_temp.pick(i, 1, 20)] || '-' || trades[1 + pg_temp.pick(i, 2, 10)] || '-' || i,
       now() - interval '1 minute' * pg_temp.pick(i, 3, 1500000) - interval '1 day',
       case when pg_temp.pick(i, 4, 100) < 2 then now() - interval '1 hour' end,
       case when pg_temp.pick(i, 5, 100) < 70 then 'cus_' || substr(md5('c' || i), 1, 14) end,
       case when pg_temp.pick(i, 6, 100) < 90 then 'billing@' || names[1 + pg_temp.pick(i, 1, 20)] || '-' || i || '.example' end
from words, generate_series(1, current_setting('bench.keys')::bigint / 10) i;

insert into tenant_plans (tenant_id, plan, valid_from, per_minute, per_day)
select id, case when p < 70 then 'free' when p < 90 then 'pro' when p < 98 then 'business' else 'enterprise' end, created_at,
       case when p >= 98 then 5000 end, case when p >= 98 then 2000000 end
from (select id, created_at, pg_temp.pick(id, 7, 100) as p from tenants) t;
-- Changes of the next 30 days.
insert into tenant_plans (tenant_id, plan, valid_from)
select id, 'business', now() + interval '1 minute' * (1 + pg_temp.pick(id, 8, 43200)) from tenants where id % 50 = 0;

insert into api_keys (id, tenant_id, name, environment, digest, last4, created_at, expires_at, revoked_at, last_used_at)
select pg_temp.key_id(i), pg_temp.tenant_of(i), case when i % 10 < 7 then keys[1 + pg_temp.pick(i, 10, 10)] else '' end,
       case when i % 10 < 8 then 'live' else 'test' end, sha256(int8send(i)),
       translate(substr(encode(sha256(int8send(i)), 'base64'), 1, 4), '+/', 'xy'), t.created_at,
       case when pg_temp.pick(i, 11, 100) < 20 then now() + interval '1 hour' * (pg_temp.pick(i, 12, 24 * 365) - 24 * 60) end,
       case when pg_temp.pick(i, 13, 100) < 10 then now() - interval '1 minute' * pg_temp.pick(i, 14, 500000) end,
       case when pg_temp.pick(i, 15, 100) < 85 then now() - interval '1 second' * pg_temp.pick(i, 16, 3600 * 24 * 200) end
from words, generate_series(1, current_setting('bench.keys')::bigint) i join tenants t on t.id = pg_temp.tenant_of(i);

-- One key in 20 was banned, one in 400 is.
insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at, lifted_at)
select pg_temp.tenant_of(i), pg_temp.key_id(i), case when i % 60 = 0 then 'staff' else 'automatic' end, 'Too many requests after 429.', s.at,
       s.at + interval '1 hour', case when i % 140 = 0 then s.at + interval '20 minutes' end
from generate_series(20, current_setting('bench.keys')::bigint, 20) i
cross join lateral (select now() - case when i % 400 = 0 then interval '5 minutes' else interval '1 minute' * (100 + pg_temp.pick(i, 20, 500000)) end as at) s;

-- One key in 100 has 50 failed requests of the last day.
insert into failed_requests (tenant_id, server_id, number, key_id, at, took_micros, request_id, status, code, reason, plan, limited_by,
                             allowed, resets_at, partial, method, route, suppressed)
select pg_temp.tenant_of(i), 'd4s6v8qk3m5t0b2n7c1g', (i - 1) * 50 + n, pg_temp.key_id(i), now() - interval '1 second' * (n * 1000 + pg_temp.pick(i, 21, 1000)),
       250, substr(md5('r' || i || '-' || n), 1, 20), case when n % 5 = 0 then 404 else 429 end,
       case when n % 5 = 0 then 'pet_not_found' else 'rate_limit_exceeded' end, '', 'free', case when n % 5 = 0 then '' else 'minute' end, 60, now(),
       false, 'GET', '/v1/pets/{petId}', n * 3
from generate_series(1, current_setting('bench.keys')::bigint, 100) i, generate_series(1, 50) n;

-- One key in 5 of nine tenants in ten sends requests: in every hour of today, and of each third day of the last 30.
insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
select a.tenant_id, h, pg_temp.key_id(i), a.id, 1, 10 + pg_temp.pick(i, 22, 500), pg_temp.pick(i, 23, 10)
from (
  select date_trunc('day', now(), 'UTC') + interval '1 hour' * n as h from generate_series(0, 23) n
  union select date_trunc('day', now(), 'UTC') - interval '3 days' * n from generate_series(1, 10) n
) hours
cross join generate_series(1, current_setting('bench.keys')::bigint, 5) i
join lateral (select min(p.id) as id, p.tenant_id from tenant_plans p where p.tenant_id = pg_temp.tenant_of(i) group by p.tenant_id) a on true
where h <= now() and a.tenant_id % 10 <> 3;
insert into tenant_activity (tenant_id, last_day)
select tenant_id, (max(hour) at time zone 'UTC')::date from usage_hourly group by tenant_id;

-- The entries of three years. Their hashes are no chain, but as long as those of one, and as hard to compress.
insert into audit_entries (number, at, login, address, claimed_actor, action, tenant_id, subject, before, after, reason, prev, hash)
select i, now() - interval '3 years' * (1 - i::float8 / current_setting('bench.entries')::bigint),
       case when a.action = 'ban.place' then 'api_server' else 'staff_' || pg_temp.pick(i, 30, 20) end, '10.0.0.' || i % 250,
       case when a.action = 'ban.place' then 'petstore' else 'person-' || pg_temp.pick(i, 30, 20) || '@support-3' end, a.action, a.tenant_id,
       case when a.action like 'key.%' or a.action like 'ban.%' then pg_temp.key_id(a.key) else 'tenant:' || a.tenant_id end,
       case when a.action <> 'key.issue' then jsonb '{"plan": "free", "per_day": 1000, "per_minute": 60}' end,
       jsonb '{"plan": "pro", "per_day": 10000, "per_minute": 300}', case when i % 3 = 0 then 'order ' || i else '' end,
       sha256(int8send(i - 1)), sha256(int8send(i))
from (
  select i, pg_temp.tenant_of(k) as tenant_id, k as key,
         (array['key.issue','key.issue','key.issue','ban.place','ban.place','plan.assign','plan.assign','key.revoke','tenant.edit','key.rotate'])[1 + i % 10] as action
  from (select i, 1 + pg_temp.pick(i, 31, current_setting('bench.keys')::bigint) as k from generate_series(1, current_setting('bench.entries')::bigint) i) n
) a;
alter table audit_head disable trigger all;
update audit_head set number = current_setting('bench.entries')::bigint, hash = sha256(int8send(current_setting('bench.entries')::bigint));
alter table audit_head enable trigger all;

do $$
declare
  definition text;
begin
  for definition in select i.definition from indexes i loop
    execute definition;
  end loop;
end $$;
select setval(pg_get_serial_sequence('tenants', 'id'), max(id)) from tenants;
