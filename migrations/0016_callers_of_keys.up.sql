-- callers_of_keys is caller_of_key for several digests, whose places it returns: the plan is started once, not once for each of them. The lateral
-- query can't be joined otherwise, so that keys are found by their digests, however small the tables were when it was planned.
create function callers_of_keys(bytea[], timestamptz)
returns table (
  place bigint, id text, environment text, expires_at timestamptz, revoked_at timestamptz, key_per_minute bigint, scope text, allowed text,
  tenant_id bigint, tenant text, suspended_at timestamptz, created_at timestamptz,
  assignment bigint, version integer, plan text, per_minute bigint, per_day bigint, valid_from timestamptz, valid_to timestamptz,
  plan_per_minute bigint, plan_per_day bigint,
  ban_id bigint, ban_source text, ban_reason text, ban_starts_at timestamptz, ban_ends_at timestamptz, presented boolean
) language plpgsql stable security definer set plan_cache_mode = force_generic_plan as $$
begin
  return query
    select d.place, c.*
    from unnest($1) with ordinality d (digest, place)
    cross join lateral (
      select k.id, k.environment, k.expires_at, k.revoked_at, coalesce(k.per_minute, 0), k.scope, array_to_string(k.allowed, ','),
             t.id, t.name, t.suspended_at, t.created_at,
             q.assignment, q.version, q.plan, q.per_minute, q.per_day, q.valid_from, q.valid_to,
             coalesce(q.plan_per_minute, 0), coalesce(q.plan_per_day, 0),
             b.id, b.source, b.reason, b.starts_at, b.ends_at, k.presented
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
      where k.digest = d.digest
      offset 0
    ) c;
end $$;

-- note_presented notes that servers have been sent keys. A key that is being changed now is skipped, so that nothing waits.
create function note_presented(ids text[]) returns void language sql security definer as $$
  update api_keys k set presented = true
  where k.id in (select o.id from api_keys o where o.id = any(ids) and not o.presented order by o.id for no key update skip locked)
$$;

do $$
declare
  f regproc;
begin
  foreach f in array array['callers_of_keys', 'note_presented']::regproc[] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;
revoke execute on function note_presented from public;
grant execute on function callers_of_keys, note_presented to petstore_api;
