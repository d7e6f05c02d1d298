-- tell_due adds the events that time makes, found by what is due, still true and not told, never by when it last ran: a change may commit late. One
-- session at a time does it.
--   key.expiring   30, 7 and 1 days before the end, after an outage only the nearest; of a key that has a replacement only the last
--   key.unbanned   when a ban ends and no other one holds then
--   plan.changing  7 days before the quota changes, or when that is scheduled
--   plan.changed   when it has changed
--   endpoint.failing, endpoint.disabled   once for an unbroken row of failures
-- It drops mails that are over a day late, which no server may be there to send.
create function tell_due() returns void language plpgsql security definer as $$
begin
  if not pg_try_advisory_xact_lock(hashtextextended('petstore tell_due', 0)) then
    return;
  end if;
  perform emit_once(k.tenant_id, k.environment, 'key.expiring', k.id || '/' || d.days, k.expires_at, d.at,
    key_of_event(k) || jsonb_build_object('days', d.days, 'replacedBy', r.id))
  from told t join api_keys k on k.tenant_id = t.tenant_id
  cross join lateral (
    select n as days, k.expires_at - n * interval '1 day' as at from unnest(array[1, 7, 30]) n where k.expires_at <= now() + n * interval '1 day' order by n limit 1
  ) d
  left join lateral (
    select v.replacement as id from valid_keys(k.tenant_id, now()) v where v.id = k.id and v.replacement is not null offset 0) r on true
  where k.revoked_at is null and k.expires_at > now() and d.at >= k.created_at and (d.days = 1 or r.id is null) and not exists (
    select from once o where o.tenant_id = k.tenant_id and o.kind = 'key.expiring' and o.subject = k.id || '/' || d.days and o.instant = k.expires_at);

  perform emit_once(k.tenant_id, k.environment, 'key.unbanned', k.id, b.ends_at, b.ends_at, key_of_event(k))
  from told t join bans b on b.tenant_id = t.tenant_id join api_keys k on k.id = b.key_id
  where b.lifted_at is null and b.ends_at between now() - interval '30 days' and now()
    and not exists (select from once o where o.tenant_id = k.tenant_id and o.kind = 'key.unbanned' and o.subject = k.id and o.instant = b.ends_at)
    and not exists (select from bans o where o.key_id = k.id and o.starts_at <= b.ends_at and least(o.lifted_at, o.ends_at) > b.ends_at);

  perform emit_once(t.tenant_id, 'live', w.kind, c.subject, c.at, w.due, c.about)
  from told t
  cross join lateral quota_changes(t.tenant_id, now() - interval '30 days', now() + interval '7 days') c
  cross join lateral (select (array['plan.changed', 'plan.changing'])[1 + (c.at > now())::int] as kind,
    case when c.at > now() then greatest(c.at - interval '7 days', c.made_at) else c.at end as due) w
  where not exists (select from once o where o.tenant_id = t.tenant_id and o.kind = w.kind and o.subject = c.subject and o.instant = c.at);

  perform emit_once(e.tenant_id, e.environment, w.kind, e.id::text, e.failing_since, e.noticed_at, jsonb_strip_nulls(jsonb_build_object(
    'id', e.id::text, 'host', substring(e.url from '//([^/?]*)'), 'environment', e.environment, 'failingSince', audit_instant(e.failing_since),
    'disabledReason', e.disabled_reason)))
  from endpoints e cross join lateral (select 'endpoint.' || case e.status when 'enabled' then 'failing' else 'disabled' end as kind) w
  where e.noticed_at >= e.failing_since and (e.status = 'enabled' or e.disabled_reason in ('gone', 'failures')) and not exists (
    select from once o where o.tenant_id = e.tenant_id and o.kind = w.kind and o.subject = e.id::text and o.instant = e.failing_since);

  update mails m set done_at = now(), result = 'dropped', said = 'over a day late'
  where m.done_at is null and m.created_at < now() - interval '1 day' and (m.due_at <= now() or m.due_at = 'infinity');
end $$;
do $$
begin
  execute format('alter function tell_due set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;
grant execute on function tell_due to petstore_api;
