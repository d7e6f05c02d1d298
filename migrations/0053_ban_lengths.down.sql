create or replace function place_automatic_ban(tenant bigint, key text)
returns table (
  id bigint, tenant_id bigint, tenant_name text, key_id text, source text, reason text, starts_at timestamptz, ends_at timestamptz
) language plpgsql security definer as $$
declare
  at      timestamptz;
  earlier bigint;
  ban     bans;
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
    select count(*) into earlier from bans b
    where b.key_id = key and b.source = 'automatic' and b.lifted_at is null and b.starts_at > at - interval '7 days';
    insert into bans as b (tenant_id, key_id, source, reason, starts_at, ends_at)
    values (tenant, key, 'automatic', 'it went on sending requests after 429', date_trunc('second', at), date_trunc('second', at) +
            case earlier when 0 then interval '15 minutes' when 1 then interval '1 hour' else interval '24 hours' end)
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
  execute format('alter function place_automatic_ban set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;

drop function next_ban_length(text, timestamptz);
drop table ban_lengths;
