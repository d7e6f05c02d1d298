-- What a server finds wrong with itself, by the names of its checks, for petstorectl doctor.
alter table servers add reports text[] not null default '{}' check (cardinality(reports) <= 32);
grant update (reports) on servers to petstore_api;

-- count_bans counts the bans that were placed and lifted after an entry of the audit trail, for the metrics of servers, which may not
-- read the trail. number is that of the last entry. Entries get their numbers in the order of their commits, so none is missed.
create function count_bans(since bigint) returns table (number bigint, by_server bigint, by_staff bigint, lifted bigint)
language sql stable security definer as $$
  select (select h.number from audit_head h),
         count(*) filter (where e.action = 'ban.place' and e.after->>'source' = 'automatic'),
         count(*) filter (where e.action = 'ban.place' and e.after->>'source' = 'staff'),
         count(*) filter (where e.action = 'ban.lift')
  from audit_entries e where e.number > since
$$;

do $$
begin
  execute format('alter function count_bans set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;

revoke all on function count_bans from public;
grant execute on function count_bans to petstore_api;
