lock table tenants, api_keys, bans, pets, orders, plan_versions, tenant_plans, audit_entries in share row exclusive mode;
create function refuse_notices(why text) returns void language plpgsql as $$
begin
  raise exception 'refused (%)', why using errcode = 'check_violation', constraint = why;
end $$;

-- own_endpoints returns the endpoints of the tenant whose manage key or sign-in has the digest, the newest first, or one. A test key sees no live one.
create function own_endpoints(asker bytea, one bigint) returns setof endpoints language plpgsql stable security definer as $$
declare
  a record;
begin
  select * into a from asker_of(asker);
  if not a.manages then
    perform refuse_key_change('scope');
  end if;
  return query select e.* from endpoints e
    where e.tenant_id = a.tenant_id and (a.environment = 'live' or e.environment = a.environment) and (one is null or e.id = one) order by e.id desc;
  if not found and one is not null then
    perform refuse_notices('webhooks_unknown');
  end if;
end $$;

-- queue_deliveries queues what is not new, and returns the ID of the delivery, for webhook.replay the number of deliveries. webhook.test sends a ping
-- before all else, while the endpoint is pending at most 20 an hour for a tenant. webhook.retry makes a waiting delivery due, and sends the event of
-- another one again. webhook.replay sends, behind what is new, what the endpoint wants of the last 30 days and has not got, or all of it, and makes
-- due what waits for a later attempt.
create function queue_deliveries(e endpoints, action text, change jsonb) returns bigint language plpgsql as $$
declare
  event uuid;
  n     bigint;
begin
  if e.status = 'disabled' then
    perform refuse_notices('webhooks_disabled');
  elsif action = 'webhook.replay' then
    insert into deliveries (endpoint_id, tenant_id, event_id, rank)
    select e.id, e.tenant_id, v.id, 2 from events v
    where v.tenant_id = e.tenant_id and coalesce(v.environment, e.environment) = e.environment and wants(e.events, v.type)
      and v.type not in ('ping', 'events.dropped') -- They are for one endpoint.
      and (v.type !~ '^endpoint\.' or v.body::jsonb #>> '{data,id}' <> e.id::text)
      and v.created_at >= greatest((change ->> 'since')::timestamptz, now() - interval '30 days')
      and v.created_at < coalesce((change ->> 'until')::timestamptz, 'infinity') and (not change ? 'types' or change -> 'types' ? v.type)
      and not exists (
        select from deliveries d where d.endpoint_id = e.id and d.event_id = v.id
          and (d.done_at is null or d.result = 'delivered' and not coalesce((change ->> 'all')::boolean, false)))
    order by v.created_at, v.id limit 10000;
    get diagnostics n = row_count;
    -- What is due within 30 s may be under way, by the clock of the row's reading: a claim may be later than this transaction.
    with late as (
      select d.id from deliveries d join events v on v.id = d.event_id
      where d.endpoint_id = e.id and d.done_at is null and d.rank > 0 and d.due_at > clock_timestamp() + interval '30 seconds' and d.due_at < 'infinity'
        and v.created_at >= coalesce((change ->> 'since')::timestamptz, '-infinity')
        and v.created_at < coalesce((change ->> 'until')::timestamptz, 'infinity') and (not change ? 'types' or change -> 'types' ? v.type)
      order by d.id limit 10000 - n for update of d skip locked
    ), moved as (
      update deliveries d set due_at = now(), rank = 2 from late l where d.endpoint_id = e.id and d.id = l.id returning d.id
    )
    select n + count(*) into n from moved;
    return n;
  elsif action = 'webhook.test' then
    if e.status = 'pending'
      and (select count(*) from events v where v.tenant_id = e.tenant_id and v.type = 'ping' and v.created_at > now() - interval '1 hour') >= 20 then
      perform refuse_notices('webhooks_pings');
    end if;
    event := add_event(e.tenant_id, e.environment, 'ping', '{}');
  else
    select d.id, d.event_id into n, event from deliveries d where d.endpoint_id = e.id and d.id = (change ->> 'delivery')::bigint for update;
    if not found then
      perform refuse_notices('webhooks_delivery');
    end if;
    -- One that is due within 30 s may be under way.
    update deliveries d set due_at = case when d.due_at > now() + interval '30 seconds' then now() else d.due_at end
    where d.endpoint_id = e.id and d.id = n and d.done_at is null;
    if found then
      return n;
    end if;
  end if;
  insert into deliveries (endpoint_id, tenant_id, event_id, rank) values (e.id, e.tenant_id, event, case action when 'webhook.test' then 0 else 1 end)
  returning id into n;
  return n;
end $$;

-- send_as_staff is queue_deliveries for staff, who write the audit entry themselves.
create function send_as_staff(action text, target bigint, change jsonb) returns bigint language sql security definer as $$
  select queue_deliveries(e, action, change) from endpoints e where e.id = target for key share
$$;

-- endpoint_record is the part of an audit entry about an endpoint. It leaves out what customers write.
create function endpoint_record(e endpoints) returns jsonb language sql stable as $$
  select jsonb_strip_nulls(jsonb_build_object('id', e.id::text, 'environment', e.environment, 'events', to_jsonb(e.events), 'status', e.status,
    'disabled_reason', e.disabled_reason, 'redacted', jsonb_build_array('url', 'description')))
$$;

-- next_endpoint returns the ID of a new endpoint: its secret is sealed for it.
create function next_endpoint() returns bigint language sql security definer as $$ select nextval('endpoints_id_seq') $$;

-- manage_endpoint makes a change with its audit entry for the tenant whose manage key or sign-in has the digest: webhook.create, .edit, .rotate,
-- .remove, or one of queue_deliveries. It returns the endpoint, and what queue_deliveries returns. A changed URL must answer a ping again. The new
-- secret alone decides whether a server can sign, so a rotation helps if a key of the servers is lost; at most 5 secrets sign.
create function manage_endpoint(asker bytea, action text, target bigint, change jsonb, out endpoint endpoints, out queued bigint)
language plpgsql security definer as $$
declare
  a   record;
  was endpoints;
begin
  perform from tenants t where t.id = (select o.tenant_id from asker_of(asker) o) for no key update;
  select * into a from asker_of(asker);
  if action = 'webhook.create' then
    perform own_endpoints(asker, null);
    if (select count(*) from endpoints e where e.tenant_id = a.tenant_id) >= 5 then
      perform refuse_notices('webhooks_room');
    end if;
    insert into endpoints (id, tenant_id, environment, url, events, description) overriding system value
    values (target, a.tenant_id, a.environment, change ->> 'url', array(select jsonb_array_elements_text(change -> 'events')), change ->> 'description')
    returning * into endpoint;
    insert into endpoint_slots (endpoint_id, slot) values (target, 0), (target, 1);
  else
    perform from endpoints e where e.id = (select o.id from own_endpoints(asker, target) o) for no key update;
    select * into was from own_endpoints(asker, target);
    endpoint := was;
    if change ->> 'version' <> was.version::text then
      perform refuse_notices('webhooks_version');
    end if;
  end if;
  if action = 'webhook.edit' then
    update endpoints e set url = coalesce(change ->> 'url', e.url), description = coalesce(change ->> 'description', e.description),
      events = case when change ? 'events' then array(select jsonb_array_elements_text(change -> 'events')) else e.events end,
      verified_at = case when change ->> 'url' <> e.url then null else e.verified_at end,
      failing_since = case when change ->> 'url' <> e.url or (change ->> 'enabled')::boolean then null else e.failing_since end,
      disabled_reason = case (change ->> 'enabled')::boolean when true then null when false then coalesce(e.disabled_reason, 'customer')
        else e.disabled_reason end, version = e.version + 1
    where e.id = target returning * into endpoint;
    -- What waited when it was disabled is not sent when it is enabled, and a ping under way is not one of the new URL.
    update deliveries d set done_at = now(), result = 'dropped' where d.endpoint_id = target and d.done_at is null
      and (was.status = 'disabled' and endpoint.status <> 'disabled' or endpoint.url <> was.url and d.rank = 0);
  elsif action = 'webhook.remove' then
    -- In the order of finish_deliveries.
    perform from deliveries d where d.endpoint_id = target and d.done_at is null order by d.id for update;
    delete from endpoints e where e.id = target;
  elsif action = 'webhook.rotate' then
    update endpoint_secrets x set ends_at = least(x.ends_at, now() + make_interval(secs => (change ->> 'grace')::double precision))
    where x.endpoint_id = target;
    delete from endpoint_secrets x where x.endpoint_id = target and (x.ends_at <= now() or x.made_at < (
      select o.made_at from endpoint_secrets o where o.endpoint_id = target order by o.made_at desc offset 3 limit 1));
    update endpoints e set version = e.version + 1 where e.id = target returning * into endpoint;
  elsif action <> 'webhook.create' then
    queued := queue_deliveries(endpoint, action, change);
  end if;
  if change ? 'sealed' then
    insert into endpoint_secrets (endpoint_id, key_id, sealed) values (target, change ->> 'key_id', decode(change ->> 'sealed', 'base64'));
  end if;
  insert into audit_entries (claimed_actor, action, tenant_id, subject, before, after) values (a.actor, action, a.tenant_id, 'webhook:' || target,
    case when queued is null and was.id is not null then endpoint_record(was) end,
    case when queued is not null then jsonb_build_object('queued', queued) when action <> 'webhook.remove' then endpoint_record(endpoint) end);
end $$;

-- own_deliveries lists the deliveries of an endpoint of the last 7 days, and those that wait, the newest first, or one. What is not sent is due at no
-- time: while the endpoint is disabled nothing, while it is pending all but a ping.
create view endpoint_deliveries as
select d.endpoint_id, d.id, d.event_id, v.type, d.created_at, coalesce(d.result, 'waiting') as status,
       case when d.done_at is null and d.due_at < 'infinity' and (e.status = 'enabled' or e.status = 'pending' and d.rank = 0) then d.due_at end as due_at, (
         select jsonb_agg(jsonb_build_object('at', a.at, 'ms', a.ms, 'status', a.status, 'answer', encode(a.answer, 'base64'), 'said', a.said) order by a.attempt)
         from attempts a where a.endpoint_id = d.endpoint_id and a.delivery_id = d.id) as attempts
from deliveries d join events v on v.id = d.event_id join endpoints e on e.id = d.endpoint_id
where d.done_at is null or d.created_at > now() - interval '7 days';
create function own_deliveries(asker bytea, target bigint, one bigint, before bigint, most integer) returns setof endpoint_deliveries
language plpgsql stable security definer as $$
begin
  perform own_endpoints(asker, target);
  return query select d.* from endpoint_deliveries d
    where d.endpoint_id = target and (one is null or d.id = one) and (before is null or d.id < before) order by d.id desc limit most;
end $$;

-- The events of changes. A trigger names its columns, so that nothing else costs anything, and fires only if something differs. What retention and
-- erase remove is no event.
create function key_of_event(k api_keys) returns jsonb language sql stable as $$
  select jsonb_build_object('id', k.id, 'name', k.name, 'environment', k.environment, 'last4', k.last4, 'scope', k.scope,
    'createdAt', audit_instant(k.created_at), 'expiresAt', audit_instant(k.expires_at), 'revokedAt', audit_instant(k.revoked_at))
$$;
create function emit_key() returns trigger language plpgsql security definer as $$
begin
  perform emit(new.tenant_id, new.environment, tg_argv[0], key_of_event(new));
  return null;
end $$;
create trigger api_keys_issued after insert on api_keys for each row execute function emit_key('key.issued');
create trigger api_keys_revoked after update of revoked_at on api_keys for each row
  when (old.revoked_at is null and new.revoked_at is not null) execute function emit_key('key.revoked');

-- Only the audit entry says that a key is the replacement of another.
create function emit_rotation() returns trigger language plpgsql security definer as $$
begin
  perform emit(k.tenant_id, k.environment, 'key.rotated', key_of_event(k) || jsonb_build_object('replacedBy', new.after ->> 'replaced_by'))
  from api_keys k where k.id = new.subject;
  return null;
end $$;
create trigger audit_entries_rotated after insert on audit_entries for each row when (new.action = 'key.rotate') execute function emit_rotation();

-- A ban that is lifted while another one is in force ends nothing. That is looked at when the change is complete, because another ban may replace it, and
-- of several that are lifted together one tells.
create function emit_ban() returns trigger language plpgsql security definer as $$
declare
  k api_keys;
begin
  select o.* into k from api_keys o where o.id = new.key_id;
  if new.ends_at <= clock_timestamp() then
    return null;
  elsif new.lifted_at is null then
    perform emit(k.tenant_id, k.environment, 'key.banned', key_of_event(k) || jsonb_build_object('reason', new.reason,
      'startsAt', audit_instant(new.starts_at), 'endsAt', audit_instant(new.ends_at)));
  elsif not exists (
    select from bans b where b.key_id = k.id and b.ends_at > clock_timestamp() and (b.lifted_at is null or b.lifted_at = new.lifted_at and b.id > new.id)) then
    perform emit(k.tenant_id, k.environment, 'key.unbanned', key_of_event(k));
  end if;
  return null;
end $$;
create trigger bans_placed after insert on bans for each row execute function emit_ban();
create constraint trigger bans_lifted after update of lifted_at on bans deferrable initially deferred for each row
  when ((old.lifted_at is null) <> (new.lifted_at is null)) execute function emit_ban();

create function emit_tenant() returns trigger language plpgsql security definer as $$
begin
  perform emit(new.id, 'live', tg_argv[0], jsonb_build_object('name', new.name));
  return null;
end $$;
create trigger tenants_suspended after update of suspended_at on tenants for each row
  when (old.suspended_at is null and new.suspended_at is not null) execute function emit_tenant('tenant.suspended');
create trigger tenants_resumed after update of suspended_at on tenants for each row
  when (old.suspended_at is not null and new.suspended_at is null) execute function emit_tenant('tenant.resumed');

-- quota_changes has the changes of a tenant's quota between two instants. What begins later than now is told when it begins.
create function quota_changes(tenant bigint, since timestamptz, upto timestamptz) returns table (subject text, at timestamptz, made_at timestamptz, about jsonb)
language sql stable as $$
  select q.subject, q.valid_from, greatest(a.created_at, v.created_at),
         q.quota || jsonb_build_object('since', audit_instant(q.valid_from), 'before', q.was)
  from (
    select p.*, lag(p.quota) over (order by p.valid_from) as was from (
      select o.assignment, o.plan, o.version, o.assignment || '/' || o.version as subject, o.valid_from, jsonb_build_object('plan', o.plan,
        'perMinute', o.per_minute, 'perDay', o.per_day, 'perMonth', o.per_month, 'overage', o.overage, 'overageLimit', o.overage_limit) as quota
      from quota_periods o where o.tenant_id = tenant and (o.valid_to >= since) is not false
    ) p
  ) q join tenant_plans a on a.id = q.assignment join plan_versions v on v.plan = q.plan and v.version = q.version
  where q.valid_from between since and upto and q.was <> q.quota
$$;
create function emit_plan() returns trigger language plpgsql security definer as $$
begin
  perform emit_once(t.tenant_id, 'live', 'plan.changed', c.subject, c.at, clock_timestamp(), c.about)
  from (select distinct e.tenant_id from told e join tenant_plans a on a.tenant_id = e.tenant_id where a.plan = new.plan) t
  cross join lateral quota_changes(t.tenant_id, new.valid_from, new.valid_from) c
  where t.tenant_id = coalesce((to_jsonb(new) ->> 'tenant_id')::bigint, t.tenant_id);
  return null;
end $$;
create trigger tenant_plans_changed after insert on tenant_plans for each row
  when (new.valid_from <= clock_timestamp() + interval '2 seconds') execute function emit_plan();
create trigger plan_versions_changed after insert on plan_versions for each row
  when (new.valid_from <= clock_timestamp() + interval '2 seconds') execute function emit_plan();

create function emit_catalogue() returns trigger language plpgsql security definer as $$
begin
  if not exists (select from endpoints e where e.tenant_id = new.tenant_id) then
    return null;
  elsif tg_table_name = 'pets' then
    perform emit(new.tenant_id, null, tg_argv[0], to_jsonb(new) - '{tenant_id,category_id,created_at}'::text[]
      || jsonb_build_object('id', new.id::text, 'categoryId', new.category_id::text));
  else
    perform emit(new.tenant_id, null, tg_argv[0], jsonb_build_object('id', new.id::text, 'petId', new.pet_id::text, 'quantity', new.quantity,
      'status', new.status, 'createdAt', audit_instant(new.created_at)));
  end if;
  return null;
end $$;
create trigger pets_created after insert on pets for each row execute function emit_catalogue('pet.created');
-- An animal has no column that is not of the customer, and none is named, so that a migration may change their types.
create trigger pets_updated after update on pets for each row when (old is distinct from new) execute function emit_catalogue('pet.updated');
create trigger orders_created after insert on orders for each row execute function emit_catalogue('order.created');
create trigger orders_updated after update of status on orders for each row when (old.status <> new.status) execute function emit_catalogue('order.updated');

do $$
begin
  execute (select string_agg(format('alter function %s set search_path = pg_catalog, %I, pg_temp', p.oid::regprocedure, current_schema()), ';')
    from pg_proc p where p.prosecdef and p.proconfig is null and p.pronamespace = current_schema()::regnamespace);
end $$;
grant execute on function own_endpoints, next_endpoint, manage_endpoint, own_deliveries to petstore_api;
grant execute on function send_as_staff, endpoint_record to petstore_support;
grant select on endpoint_deliveries to petstore_support;
