lock table api_keys in access exclusive mode;
do $$
begin
  if exists (select from api_keys where scope <> 'write' or allowed <> '{}') then
    raise exception 'keys are narrowed to a scope or to addresses, and would do more: revoke them, or remove that, first';
  end if;
end $$;
drop trigger api_keys_notify on api_keys;
create trigger api_keys_notify
  after insert or update of digest, environment, expires_at, revoked_at, tenant_id, per_minute or delete on api_keys
  for each row execute function notify_key();
drop function caller_of_key;
create or replace function find_caller(bytea, timestamptz)
returns table (
  id text, environment text, expires_at timestamptz, revoked boolean, revoked_at timestamptz, key_per_minute bigint,
  tenant_id bigint, tenant text, suspended_at timestamptz, created_at timestamptz,
  assignment bigint, version integer, plan text, per_minute bigint, per_day bigint, valid_from timestamptz, valid_to timestamptz,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz
) language plpgsql stable security definer as $$
begin
  return query
    select k.id, k.environment, k.expires_at, k.revoked_at is not null, k.revoked_at, coalesce(k.per_minute, 0),
           t.id, t.name, t.suspended_at, t.created_at,
           q.assignment, q.version, q.plan, q.per_minute, q.per_day, q.valid_from, q.valid_to,
           b.id, b.source, b.reason, b.starts_at, b.ends_at
    from api_keys k
    join tenants t on t.id = k.tenant_id
    cross join lateral (
      select * from quota_periods q
      where q.tenant_id = t.id and (q.valid_to is null or q.valid_to > $2)
        -- Assignments of the past are not read.
        and q.assigned_from >= coalesce(
          (select max(a.valid_from) from tenant_plans a where a.tenant_id = t.id and a.valid_from <= $2), '-infinity')
      order by q.valid_from limit 5
    ) q
    left join lateral (
      select b.id, b.source, b.reason, b.starts_at, b.ends_at from bans b
      where b.key_id = k.id and b.lifted_at is null and b.ends_at > $2
      order by b.ends_at desc limit 1
    ) b on true
    where k.digest = $1
    order by q.valid_from;
end $$;
do $$
begin
  execute format('alter function find_caller set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;
alter table api_keys drop column scope, drop column allowed;
