-- Every request that failed is of interest to support, not only one that a limit or a ban refused: refusals becomes failed_requests.
alter table refusals rename to failed_requests;
alter table failed_requests
  drop constraint refusals_pkey,
  add primary key (server_id, number),
  -- Both null: the request had no key that exists.
  alter column tenant_id drop not null,
  alter column key_id drop not null,
  add constraint failed_requests_stranger check ((tenant_id is null) = (key_id is null)),
  add column status integer not null default 429,
  -- More than the code, where customers are not told.
  add column reason text not null default '',
  add column took_micros bigint not null default 0;
alter table failed_requests alter column status drop default, alter column reason drop default, alter column took_micros drop default;
alter table failed_requests rename constraint refusals_tenant_id_fkey to failed_requests_tenant_id_fkey;
alter table failed_requests rename constraint refusals_key_id_fkey to failed_requests_key_id_fkey;
alter index refusals_by_key rename to failed_requests_by_key;
alter index refusals_by_time rename to failed_requests_by_time;
drop index refusals_by_request;
create index failed_requests_by_request on failed_requests (request_id);
create index failed_requests_by_tenant on failed_requests (tenant_id, at);
create index failed_requests_of_strangers on failed_requests (at) where key_id is null;

drop function add_refusals;
drop function prune_refusals;

-- add_failed_requests stores failed requests, and removes all but the latest 50 that were refused with 429, and the latest 50 others, of
-- each of their keys and hours. It skips rows that another server is removing. Those that are there already, and those of deleted keys,
-- are left out. One of the future would never be removed.
create function add_failed_requests(
  tenants bigint[], servers text[], numbers bigint[], key_ids text[], micros bigint[], tooks bigint[], requests text[], statuses bigint[],
  codes text[], reasons text[], plan_names text[], windows text[], limits bigint[], resets bigint[], partials boolean[], methods text[],
  routes text[], suppressed bigint[]
) returns void language plpgsql security definer as $$
begin
  insert into failed_requests (tenant_id, server_id, number, key_id, at, took_micros, request_id, status, code, reason, plan, limited_by,
                               allowed, resets_at, partial, method, route, suppressed)
  select k.tenant_id, left(r.server_id, 128), r.number, k.id,
         least(timestamptz 'epoch' + r.micros * interval '1 microsecond', now() + interval '1 minute'), greatest(r.took, 0),
         left(r.request_id, 128), least(greatest(r.status, 0), 999)::int, left(r.code, 128), left(r.reason, 128), left(r.plan, 128),
         left(r.limited_by, 128), r.allowed, to_timestamp(nullif(least(greatest(r.reset, 0), 253402300799), 0)), r.partial,
         -- The client chooses the method, of any length.
         left(r.method, 16), left(r.route, 128), r.suppressed
  from unnest(tenants, servers, numbers, key_ids, micros, tooks, requests, statuses, codes, reasons, plan_names, windows, limits, resets,
              partials, methods, routes, suppressed)
       as r (tenant_id, server_id, number, key_id, micros, took, request_id, status, code, reason, plan, limited_by, allowed, reset,
             partial, method, route, suppressed)
  left join api_keys k on k.id = r.key_id and k.tenant_id = r.tenant_id
  where k.id is not null or r.key_id = ''
  on conflict do nothing;

  with over as materialized (
    select f.server_id, f.number
    from (
      select distinct c.tenant_id, c.key_id, c.status = 429 as by_limit,
             date_trunc('hour', least(timestamptz 'epoch' + c.micros * interval '1 microsecond', now() + interval '1 minute'), 'UTC') as hour
      from unnest(tenants, key_ids, micros, statuses) as c (tenant_id, key_id, micros, status)
      where c.key_id <> ''
    ) k
    cross join lateral (
      select o.server_id, o.number from failed_requests o
      where o.tenant_id = k.tenant_id and o.key_id = k.key_id and (o.status = 429) = k.by_limit
        and o.at >= k.hour and o.at < k.hour + interval '1 hour'
      order by o.at desc, o.number desc offset 50
    ) f
  ), gone as materialized (
    select f.server_id, f.number from failed_requests f join over using (server_id, number) for update of f skip locked
  )
  delete from failed_requests f using gone g where f.server_id = g.server_id and f.number = g.number;
end $$;

-- prune_failed_requests removes at most so many failed requests from before the instant, and from before the last day, and of those without
-- a key all but the latest 10,000. It returns how many.
create function prune_failed_requests(before timestamptz, most integer) returns integer language plpgsql security definer as $$
declare
  removed integer;
  beyond  integer;
begin
  with old as materialized (
    select f.server_id, f.number from failed_requests f where f.at < least(before, now() - interval '1 day')
    order by f.at limit most for update skip locked
  )
  delete from failed_requests f using old o where f.server_id = o.server_id and f.number = o.number;
  get diagnostics removed = row_count;

  with over as materialized (
    select f.server_id, f.number from failed_requests f
    where f.key_id is null
      and f.at < (select s.at from failed_requests s where s.key_id is null order by s.at desc offset 9999 limit 1)
    order by f.at limit most - removed for update skip locked
  )
  delete from failed_requests f using over o where f.server_id = o.server_id and f.number = o.number;
  get diagnostics beyond = row_count;
  return removed + beyond;
end $$;

-- A function that runs with its owner's rights looks for tables where the owner put them.
do $$
declare
  f regprocedure;
begin
  for f in select oid from pg_proc
           where pronamespace = current_schema()::regnamespace and proname in ('add_failed_requests', 'prune_failed_requests') loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

revoke all on function add_failed_requests, prune_failed_requests from public;
grant execute on function add_failed_requests, prune_failed_requests to petstore_api;
