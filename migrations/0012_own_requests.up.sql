-- failed_requests_of returns failed requests of one tenant, the newest first, up to the given number: those with an ID, or those of a key that have
-- one of the pairs of status and code. '' and null stand for any. A page begins where the previous one ended: of the requests at the instant before,
-- it has those whose number has less than before_low in its last ten bits. These bits tell apart requests that failed in the same microsecond.
create function failed_requests_of(
  tenant bigint, request text, of_key text, statuses integer[], codes text[], since timestamptz, before timestamptz, before_low bigint, most integer
) returns setof failed_requests language plpgsql stable security definer as $$
begin
  if request <> '' then
    return query
      select f.* from failed_requests f
      where f.request_id = request and f.tenant_id = tenant and f.at >= since
      order by f.at desc, f.number desc limit most;
  elsif of_key <> '' then
    return query
      select f.* from failed_requests f
      where f.tenant_id = tenant and f.key_id = of_key and f.at between since and before and (f.at < before or f.number & 1023 < before_low)
        and (codes is null or (f.status, f.code) in (select * from unnest(statuses, codes)))
      order by f.at desc, f.number & 1023 desc limit most;
  elsif codes is not null then
    return query
      select f.* from unnest(statuses, codes) k (status, code) cross join lateral (
        select o.* from failed_requests o
        where o.tenant_id = tenant and o.status = k.status and o.code = k.code and o.at between since and before
          and (o.at < before or o.number & 1023 < before_low)
        order by o.at desc, o.number & 1023 desc limit most
      ) f
      order by f.at desc, f.number & 1023 desc limit most;
  else
    return query
      select f.* from failed_requests f
      where f.tenant_id = tenant and f.at between since and before and (f.at < before or f.number & 1023 < before_low)
      order by f.at desc, f.number & 1023 desc limit most;
  end if;
end $$;

-- ban_of_key says when the key's ban that ends at resets was lifted, and how long the key is banned now; null for neither.
create function ban_of_key(tenant bigint, key text, resets timestamptz, out lifted_at timestamptz, out banned_until timestamptz)
language sql stable security definer as $$
  select max(b.lifted_at) filter (where abs(extract(epoch from b.ends_at - resets)) <= 1),
         max(b.ends_at) filter (where b.lifted_at is null and b.ends_at > now())
  from bans b where b.key_id = key and b.tenant_id = tenant
$$;

do $$
declare
  f regprocedure;
begin
  foreach f in array array['failed_requests_of'::regproc, 'ban_of_key'::regproc] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

grant execute on function failed_requests_of, ban_of_key to petstore_api;
