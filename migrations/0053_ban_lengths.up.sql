-- How long automatic bans last: 'earlier' is how many the key had within 7 days, and the last row also stands for more.
create table ban_lengths (
  earlier integer  primary key check (earlier >= 0),
  length  interval not null check (length >= interval '1 second')
);
insert into ban_lengths values (0, '15 minutes'), (1, '1 hour'), (2, '24 hours');

-- next_ban_length returns how long an automatic ban would last that is placed on the key at that instant.
create function next_ban_length(key text, at timestamptz) returns interval language sql stable security definer as $$
  select l.length from ban_lengths l
  where l.earlier <= (
    select count(*) from bans b
    where b.key_id = key and b.source = 'automatic' and b.lifted_at is null and b.starts_at > at - interval '7 days'
  )
  order by l.earlier desc limit 1
$$;

-- place_automatic_ban as before, but with the length from there.
create or replace function place_automatic_ban(tenant bigint, key text)
returns table (
  id bigint, tenant_id bigint, tenant_name text, key_id text, source text, reason text, starts_at timestamptz, ends_at timestamptz
) language plpgsql security definer as $$
declare
  at  timestamptz;
  ban bans;
begin
  perform from api_keys k where k.id = key and k.tenant_id = tenant for no key update;
  if not found then
    return;
  end if;
  at := clock_timestamp();
  select b.* into ban from bans b
  where b.key_id = key and b.lifted_at is null and b.ends_at > at
  order by b.ends_at desc limit 1;
  if not found then
    insert into bans as b (tenant_id, key_id, source, reason, starts_at, ends_at)
    values (tenant, key, 'automatic', 'it went on sending requests after 429', date_trunc('second', at),
            date_trunc('second', at) + next_ban_length(key, at))
    returning b.* into ban;
    insert into audit_entries (claimed_actor, action, tenant_id, subject, after, reason)
    values ('petstore', 'ban.place', tenant, key, jsonb_build_object(
              'key_id', key, 'source', ban.source,
              'starts_at', to_char(ban.starts_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
              'ends_at', to_char(ban.ends_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
              'redacted', jsonb_build_array('reason')), ban.reason);
  end if;
  return query
    select ban.id, ban.tenant_id, t.name, ban.key_id, ban.source, ban.reason, ban.starts_at, ban.ends_at
    from tenants t where t.id = ban.tenant_id;
end $$;

do $$
begin
  execute format('alter function next_ban_length set search_path = pg_catalog, %I, pg_temp', current_schema());
  execute format('alter function place_automatic_ban set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;

revoke all on function next_ban_length from public;
grant execute on function next_ban_length to petstore_api, petstore_support;
