drop function add_failed_requests;
drop function prune_failed_requests;

-- Refusals are only those of known keys by a ban or a limit.
delete from failed_requests where key_id is null or status <> 429;
drop index failed_requests_by_tenant;
drop index failed_requests_of_strangers;
drop index failed_requests_by_request;
alter table failed_requests
  drop constraint failed_requests_pkey,
  drop constraint failed_requests_stranger,
  drop column status,
  drop column reason,
  drop column took_micros,
  alter column tenant_id set not null,
  alter column key_id set not null;
alter table failed_requests rename to refusals;
alter table refusals add primary key (tenant_id, server_id, number);
alter table refusals rename constraint failed_requests_tenant_id_fkey to refusals_tenant_id_fkey;
alter table refusals rename constraint failed_requests_key_id_fkey to refusals_key_id_fkey;
alter index failed_requests_by_key rename to refusals_by_key;
alter index failed_requests_by_time rename to refusals_by_time;
create index refusals_by_request on refusals (request_id, tenant_id);

-- As in 0014.
-- add_refusals stores refusals, and removes all but the latest 50 of their keys. It skips rows that another server is removing.
-- Refusals that are there already, and those of deleted keys, are left out. One of the future would never be removed.
create function add_refusals(
  tenants bigint[], servers text[], numbers bigint[], key_ids text[], micros bigint[], requests text[], codes text[], plan_names text[],
  windows text[], limits bigint[], resets bigint[], partials boolean[], methods text[], routes text[], suppressed bigint[]
) returns void language plpgsql security definer as $$
begin
  insert into refusals (tenant_id, server_id, number, key_id, at, request_id, code, plan, limited_by, allowed, resets_at, partial,
                        method, route, suppressed)
  select r.tenant_id, left(r.server_id, 128), r.number, r.key_id,
         least(timestamptz 'epoch' + r.micros * interval '1 microsecond', now() + interval '1 minute'),
         left(r.request_id, 128), left(r.code, 128), left(r.plan, 128), left(r.limited_by, 128), r.allowed,
         to_timestamp(nullif(least(greatest(r.reset, 0), 253402300799), 0)), r.partial,
         -- The client chooses the method, of any length.
         left(r.method, 16), left(r.route, 128), r.suppressed
  from unnest(tenants, servers, numbers, key_ids, micros, requests, codes, plan_names, windows, limits, resets, partials, methods,
              routes, suppressed)
       as r (tenant_id, server_id, number, key_id, micros, request_id, code, plan, limited_by, allowed, reset, partial, method,
             route, suppressed)
  join api_keys k on k.id = r.key_id and k.tenant_id = r.tenant_id
  on conflict do nothing;

  with over as materialized (
    select r.tenant_id, r.server_id, r.number
    from (select distinct c.tenant_id, c.key_id from unnest(tenants, key_ids) as c (tenant_id, key_id)) k
    cross join lateral (
      select o.tenant_id, o.server_id, o.number from refusals o
      where o.tenant_id = k.tenant_id and o.key_id = k.key_id
      order by o.at desc, o.number desc offset 50
    ) r
  ), gone as materialized (
    select r.tenant_id, r.server_id, r.number from refusals r join over using (tenant_id, server_id, number)
    for update of r skip locked
  )
  delete from refusals r using gone g
  where r.tenant_id = g.tenant_id and r.server_id = g.server_id and r.number = g.number;
end $$;

-- prune_refusals removes at most so many refusals from before the instant, and from before the last day, and returns how many.
create function prune_refusals(before timestamptz, most integer) returns integer language plpgsql security definer as $$
declare
  removed integer;
begin
  with old as materialized (
    select r.tenant_id, r.server_id, r.number from refusals r where r.at < least(before, now() - interval '1 day')
    order by r.at limit most for update skip locked
  )
  delete from refusals r using old o
  where r.tenant_id = o.tenant_id and r.server_id = o.server_id and r.number = o.number;
  get diagnostics removed = row_count;
  return removed;
end $$;

-- A function that runs with its owner's rights looks for tables where the owner put them.
do $$
declare
  f regprocedure;
begin
  for f in select oid from pg_proc where pronamespace = current_schema()::regnamespace and proname in ('add_refusals', 'prune_refusals') loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

revoke all on function add_refusals, prune_refusals from public;
grant execute on function add_refusals, prune_refusals to petstore_api;
