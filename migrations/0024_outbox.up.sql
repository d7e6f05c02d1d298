lock table tenants in share row exclusive mode;
-- The outbox of notices. A change adds its events and deliveries in its own transaction, and any server claims what is due, sends it and stores what
-- came of it. petstore_api reads and changes all this only by functions.
create table outbox (
  is_outbox boolean     primary key default true check (is_outbox),
  -- The oid of the table endpoints. In a restored dump it has another, so nothing is sent that was sent before. See hold_restored.
  oid       oid         not null
);

create table endpoints (
  id              bigint      primary key generated always as identity,
  tenant_id       bigint      not null references tenants(id),
  environment     text        not null check (environment in ('live', 'test')),
  url             text        not null check (octet_length(url) <= 2048),
  -- Types, and '*' for all but those of pets and orders.
  events          text[]      not null check (cardinality(events) between 1 and 100),
  description     text        not null default '' check (char_length(description) <= 200),
  created_at      timestamptz not null default now(),
  version         bigint      not null default 1,
  -- When a ping of this URL was first answered with 2xx.
  verified_at     timestamptz,
  disabled_reason text        check (disabled_reason in ('gone', 'failures', 'customer', 'support')),
  status          text        not null generated always as
    (case when disabled_reason is not null then 'disabled' when verified_at is null then 'pending' else 'enabled' end) stored,
  -- The first of an unbroken row of failed attempts.
  failing_since   timestamptz,
  -- The failed attempt that was 24 hours after it, or that has disabled the endpoint.
  noticed_at      timestamptz
);
create index endpoints_by_tenant on endpoints (tenant_id);
create constraint trigger endpoints_refuse_late after insert or update or delete on endpoints deferrable initially deferred
  for each row when (current_setting('petstore.deadline', true) <> '') execute function refuse_late_write();
insert into outbox (oid) values ('endpoints'::regclass);

-- Secrets, sealed with a key of the servers. The one without an end is the endpoint's; those before it sign with it until they end.
create table endpoint_secrets (
  endpoint_id bigint      not null references endpoints(id) on delete cascade,
  key_id      text        not null,
  sealed      bytea       not null,
  made_at     timestamptz not null default clock_timestamp(),
  ends_at     timestamptz
);
create index endpoint_secrets_by_endpoint on endpoint_secrets (endpoint_id);

-- A row is the right to have one request in flight. It is claimed and changed: a count of leased rows would be of an old snapshot.
create table endpoint_slots (
  endpoint_id  bigint      not null references endpoints(id) on delete cascade,
  slot         smallint    not null check (slot in (0, 1)),
  leased_until timestamptz not null default 'epoch',
  holder       uuid,
  constraint endpoint_slots_pkey primary key (endpoint_id, slot)
) with (fillfactor=50);

create table events (
  id          uuid        primary key default gen_random_uuid(),
  tenant_id   bigint      not null references tenants(id),
  environment text        check (environment in ('live', 'test')), -- null for endpoints of both
  type        text        not null,
  created_at  timestamptz not null default now(),
  -- The envelope, as it is sent and signed.
  body        text        not null check (octet_length(body) <= 16384)
);
create index events_by_tenant on events (tenant_id, created_at);
create index events_by_time on events (created_at);

create table deliveries (
  endpoint_id bigint      not null references endpoints(id) on delete cascade,
  id          bigint      not null generated always as identity,
  tenant_id   bigint      not null,
  event_id    uuid        not null references events(id) on delete cascade,
  -- 0: a ping, 1: what is new, 2: a replay. The lower goes first.
  rank        smallint    not null default 1 check (rank between 0 and 2),
  created_at  timestamptz not null default now(),
  attempts    smallint    not null default 0,
  -- When it may be claimed: while it is claimed, the end of the lease. 'infinity' after a restore.
  due_at      timestamptz not null default now(),
  done_at     timestamptz,
  result      text        check (result in ('delivered', 'failed', 'dropped')),
  constraint deliveries_pkey primary key (endpoint_id, id),
  constraint deliveries_done check ((done_at is null) = (result is null))
);
create index deliveries_due on deliveries (endpoint_id, rank, due_at, id) where done_at is null;
create index deliveries_by_event on deliveries (event_id, endpoint_id);

create table attempts (
  endpoint_id bigint      not null,
  delivery_id bigint      not null,
  tenant_id   bigint      not null,
  attempt     smallint    not null,
  at          timestamptz not null,
  ms          integer     not null,
  status      smallint    not null, -- 0 if there was no answer
  answer      bytea       not null check (octet_length(answer) <= 256), -- of a stranger, in any encoding
  said        text        not null, -- why it failed, in our words
  constraint attempts_pkey primary key (endpoint_id, delivery_id, attempt),
  constraint attempts_delivery foreign key (endpoint_id, delivery_id) references deliveries(endpoint_id, id) on delete cascade
);
create index attempts_by_time on attempts (at);

-- What is told once. An event that time makes has the UUIDv5 of its row as ID, so that a repeat after a restore has the same.
create table once (
  tenant_id bigint      not null references tenants(id),
  kind      text        not null,
  subject   text        not null,
  instant   timestamptz not null,
  told_at   timestamptz not null default now(),
  constraint once_pkey primary key (tenant_id, kind, subject, instant)
);
create index once_by_time on once (told_at);
create extension if not exists "uuid-ossp";

-- The admitted requests of the days of tenants that are told of them: the sum of a day's rows of usage_hourly. A row is made when usage is added, and
-- removed when its day is over. Its lock orders the servers, and so does that of tenant_months.
create table tenant_days (
  tenant_id bigint not null references tenants(id) on delete cascade,
  day       date   not null,
  admitted  bigint not null default 0,
  -- The next transaction when the row was made, until those before it have ended. Some may not know of the row, and add usage without counting it here.
  begun     xid8   default pg_snapshot_xmax(pg_current_snapshot()),
  constraint tenant_days_pkey primary key (tenant_id, day)
) with (fillfactor=70);

-- The keys that each running server has, for doctor.
create table outbox_servers (
  holder  uuid        primary key,
  keys    text[]      not null check (cardinality(keys) <= 2),
  seen_at timestamptz not null,
  mail    text        -- what the relay said when it last failed, '' if it works; null without mail
);

-- Where a tenant's address, tenants.email, stands; none before it was asked to confirm. The row is also the right to have one mail in flight.
create table mailboxes (
  tenant_id    bigint      primary key references tenants(id),
  state        text        not null default 'waiting' check (state in ('waiting', 'confirmed', 'refused', 'unsubscribed')),
  set_at       timestamptz not null default now(),
  confirmed_at timestamptz,
  leased_until timestamptz not null default 'epoch'
);

-- Mails to that address. None has an address of its own.
create table mails (
  id          uuid        primary key default gen_random_uuid(), -- the event's, if there is one
  tenant_id   bigint      not null references tenants(id),
  kind        text        not null, -- the event's type, confirm, invite, or limit, which says that more are not sent that day
  event_id    uuid        unique references events(id) on delete cascade,
  environment text        check (environment in ('live', 'test')), -- of an invitation, as those below
  invited_by  text,
  link        bytea, -- the digest of the link that was sent last
  created_at  timestamptz not null default now(),
  attempts    smallint    not null default 0, -- those that the relay took and could not end
  due_at      timestamptz not null default now(), -- as that of a delivery
  done_at     timestamptz,
  result      text        check (result in ('sent', 'refused', 'failed', 'dropped')),
  said        text,
  constraint mails_done check ((done_at is null) = (result is null)),
  constraint mails_invite check ((kind = 'invite') = (environment is not null and invited_by is not null))
);
create index mails_waiting on mails (tenant_id, due_at) where done_at is null;
create index mails_by_tenant on mails (tenant_id, created_at);

-- told has the tenants that are told of anything.
create view told as select e.tenant_id from endpoints e union select m.tenant_id from mailboxes m where m.state = 'confirmed';

create function wants(events text[], kind text) returns boolean language sql immutable as $$
  select kind = any (events) or '*' = any (events) and kind !~ '^(pet|order)\.'
$$;

-- hears reports whether an endpoint gets an event. What is about an endpoint never goes to itself.
create function hears(e endpoints, env text, kind text, about jsonb) returns boolean language sql immutable as $$
  select e.environment = coalesce(env, e.environment) and wants(e.events, kind) and (kind !~ '^endpoint\.' or e.id::text <> about ->> 'id')
$$;
create function is_mailed(tenant bigint, kind text, due timestamptz) returns boolean language plpgsql stable as $$
begin
  return kind in ('key.expiring', 'key.banned', 'plan.changing', 'plan.changed', 'quota.threshold_reached', 'endpoint.failing', 'endpoint.disabled')
    and exists (select from mailboxes m where m.tenant_id = tenant and m.state = 'confirmed' and m.confirmed_at <= due);
end $$;

-- emit adds an event if it is mailed or an endpoint of the tenant wants it, and a delivery for each that is enabled. It never changes the row of an
-- endpoint or a mailbox, for which other changes would wait, and skips one that is being removed.
create function emit(tenant bigint, env text, kind text, about jsonb, as_id uuid default gen_random_uuid()) returns void language plpgsql as $$
declare
  event  uuid;
  mailed boolean := is_mailed(tenant, kind, now());
begin
  if mailed or exists (select from endpoints e where e.tenant_id = tenant and hears(e, env, kind, about)) then
    event := add_event(tenant, env, kind, about, as_id);
    insert into deliveries (endpoint_id, tenant_id, event_id)
    select e.id, tenant, event from endpoints e where e.tenant_id = tenant and hears(e, env, kind, about) and e.status = 'enabled'
    for key share of e;
    if mailed then
      insert into mails (id, tenant_id, kind, event_id) values (event, tenant, kind, event);
    end if;
  end if;
end $$;

create function add_event(tenant bigint, env text, kind text, about jsonb, as_id uuid default gen_random_uuid()) returns uuid language sql as $$
  insert into events (id, tenant_id, environment, type, body)
  values (as_id, tenant, env, kind, format('{"type":%s,"timestamp":"%s","data":%s}', to_json(kind), audit_instant(now()), about))
  returning id
$$;

-- emit_once is emit for what became due at an instant, once for a kind, a subject and an instant. What an endpoint or an address came too late for is not told.
create function emit_once(tenant bigint, env text, kind text, subject text, instant timestamptz, due timestamptz, about jsonb) returns void
language plpgsql as $$
begin
  if is_mailed(tenant, kind, due) or exists (
    select from endpoints e where e.tenant_id = tenant and e.created_at <= due and hears(e, env, kind, about)) then
    insert into once (tenant_id, kind, subject, instant) values (tenant, kind, subject, instant) on conflict do nothing;
    if found then
      perform emit(tenant, env, kind, about, once_id(format('%s %s %s %s', tenant, kind, subject, audit_instant(instant))));
    end if;
  end if;
end $$;
do $$
begin
  execute format('create function once_id(of text) returns uuid language sql stable as $id$
    select %I.uuid_generate_v5((select s.id from event_source s), of) $id$',
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'uuid-ossp'));
end $$;

-- hold_restored reports whether this is a restored dump whose deliveries and mails are not all held yet, and holds some more.
create function hold_restored() returns boolean language plpgsql as $$
declare
  n integer;
begin
  if exists (select from outbox o where o.oid = 'endpoints'::regclass) then
    return false;
  end if;
  perform from outbox o where o.oid <> 'endpoints'::regclass for update skip locked;
  if found then
    update deliveries d set due_at = 'infinity' where (d.endpoint_id, d.id) in (
      select w.endpoint_id, w.id from deliveries w where w.done_at is null and w.due_at < 'infinity' limit 10000);
    get diagnostics n = row_count;
    update mails m set due_at = 'infinity' where m.done_at is null and n < 10000;
    if n < 10000 then
      update outbox set oid = 'endpoints'::regclass;
    end if;
  end if;
  return true;
end $$;

-- claim_deliveries leases what is due for 30 s: up to healthy slots of endpoints that answer, with 20 deliveries each, and up to failing slots of
-- endpoints that do not, one of each, with one. It takes the slots that were free for the longest time. Two slots of an endpoint are numbered, because
-- a statement does not skip its own locks. The first slot alone has replays, so they come one at a time. An endpoint waits while no key opens its
-- secret. A tenant has at most 10 slots, less than a quarter of a server's 64.
create function claim_deliveries(by uuid, keys text[], healthy integer, failing integer)
returns table (endpoint_id bigint, slot smallint, is_failing boolean, url text, key_ids text[], secrets bytea[],
  id bigint, attempt integer, event_id uuid, type text, body text) language plpgsql security definer as $$
begin
  if hold_restored() then
    return;
  end if;
  return query
    with ready as materialized (
      select e.id, e.failing_since is not null as fails, e.url, r.last_rank, case when e.failing_since is null then 20 else 1 end as most
      from endpoints e cross join lateral (select case e.status when 'enabled' then 2 else 0 end as last_rank) r
      where e.status <> 'disabled' and exists (
          select from endpoint_secrets x where x.endpoint_id = e.id and x.ends_at is null and x.key_id = any (keys))
        and exists (
          select from generate_series(0, r.last_rank) k (rank) cross join lateral (
            select from deliveries d where d.endpoint_id = e.id and d.rank = k.rank and d.done_at is null and d.due_at <= now()
            order by d.due_at limit 1) d) -- Only deliveries_due has that order.
    ), good as (
      select s.endpoint_id, s.slot from endpoint_slots s join ready r on r.id = s.endpoint_id
      where not r.fails and s.leased_until <= now() order by s.leased_until limit healthy for update of s skip locked
    ), bad as (
      select s.endpoint_id, s.slot from endpoint_slots s join ready r on r.id = s.endpoint_id
      where r.fails and s.slot = 0 and s.leased_until <= now() order by s.leased_until limit failing for update of s skip locked
    ), numbered as (
      select t.*, row_number() over (partition by t.endpoint_id order by t.slot) as n from (select * from good union all select * from bad) t
    ), picked as materialized (
      select p.* from numbered t join ready r on r.id = t.endpoint_id cross join lateral (
        select t.slot, d.* from generate_series(0, r.last_rank - t.slot) k (rank) cross join lateral (
          select d.endpoint_id, d.id, d.rank, d.due_at from deliveries d
          where d.endpoint_id = t.endpoint_id and d.rank = k.rank and d.done_at is null and d.due_at <= now()
          order by d.due_at, d.id limit r.most * t.n for update skip locked
        ) d order by d.rank, d.due_at, d.id offset r.most * (t.n - 1) limit r.most
      ) p order by p.id -- All are picked before one is changed, because those that the statement has changed are skipped.
    ), leased as (
      update endpoint_slots s set leased_until = now() + interval '30 seconds', holder = by
      from (select distinct p.endpoint_id, p.slot from picked p) p where s.endpoint_id = p.endpoint_id and s.slot = p.slot
    ), moved as (
      update deliveries d set due_at = now() + interval '30 seconds' from picked p where d.endpoint_id = p.endpoint_id and d.id = p.id
      returning d.endpoint_id, d.id, p.slot, p.rank, p.due_at, d.attempts, d.event_id
    )
    select m.endpoint_id, m.slot, r.fails, r.url, x.key_ids, x.secrets, m.id, m.attempts + 1, m.event_id, v.type, v.body
    from moved m join ready r on r.id = m.endpoint_id join events v on v.id = m.event_id cross join lateral (
      select array_agg(x.key_id order by x.made_at desc) as key_ids, array_agg(x.sealed order by x.made_at desc) as secrets
      from endpoint_secrets x where x.endpoint_id = m.endpoint_id and (x.ends_at > now()) is not false and x.key_id = any (keys)) x
    order by m.endpoint_id, m.slot, m.rank, m.due_at, m.id;
end $$;

-- finish_deliveries stores results, and frees the slots of those that are the last of a batch, unless another server has them by now. A ping is tried
-- once, anything else ten times. An endpoint is disabled by 410, and by a failed attempt five days after the first of an unbroken row. One that is being
-- changed is left as it is, so that nobody waits for that, and its next result decides.
create function finish_deliveries(by uuid, results jsonb) returns void language plpgsql security definer as $$
begin
  with r as materialized (
    select r.*, d.tenant_id, d.rank, d.done_at is null as open from jsonb_to_recordset(results) as r (endpoint_id bigint, id bigint, slot smallint, attempt smallint, at timestamptz,
      ms integer, status smallint, answer text, said text, outcome text, after double precision, last boolean)
    join deliveries d on d.endpoint_id = r.endpoint_id and d.id = r.id order by d.endpoint_id, d.id for update of d
  ), noted as (
    insert into attempts (endpoint_id, delivery_id, tenant_id, attempt, at, ms, status, answer, said)
    select r.endpoint_id, r.id, r.tenant_id, r.attempt, r.at, r.ms, r.status, decode(r.answer, 'base64'), r.said from r where r.outcome <> 'returned'
    on conflict do nothing
  ), moved as (
    update deliveries d set attempts = case r.outcome when 'returned' then d.attempts else greatest(d.attempts, r.attempt) end,
      done_at = case when t.result is not null then now() end, result = t.result,
      due_at = case r.outcome when 'returned' then now() + r.after * interval '1 second' else now() + greatest(
        (array['5 s', '5 min', '30 min', '2 h', '5 h', '10 h', '14 h', '20 h', '24 h']::interval[])[r.attempt] * (1 + random() / 10),
        least(r.after, 86400) * interval '1 second') end
    from r cross join lateral (select case when r.outcome = 'delivered' then 'delivered'
      when r.outcome = 'gone' or r.outcome = 'failed' and (r.attempt >= 10 or r.rank = 0) then 'failed' end as result) t
    where d.endpoint_id = r.endpoint_id and d.id = r.id and d.done_at is null and (d.attempts < r.attempt or r.outcome in ('delivered', 'returned'))
  ), freed as (
    update endpoint_slots s set leased_until = now(), holder = null from r
    where r.last and s.endpoint_id = r.endpoint_id and s.slot = r.slot and s.holder = by
  ), ends as (
    select r.endpoint_id, (array_agg(r.at order by r.at desc, r.id desc))[1] as at,
      (array_agg(r.outcome order by r.at desc, r.id desc))[1] = 'delivered' as well, bool_or(r.outcome = 'gone') as gone,
      bool_or(r.outcome = 'delivered') as once_well, bool_or(r.outcome = 'delivered' and r.rank = 0) as verified
    from r where r.outcome <> 'returned' and r.open group by 1
  ), changed as (
    select t.endpoint_id, f.since, t.gone or f.since <= t.at - interval '5 days' as ends, t.gone, t.verified,
      case when t.gone or f.since <= t.at - interval '24 hours' then t.at end as noticed
    from ends t join endpoints e on e.id = t.endpoint_id
    cross join lateral (select case when not t.well then coalesce(case when not t.once_well then e.failing_since end, t.at) end as since) f
    where f.since is distinct from e.failing_since or t.gone or f.since <= t.at - interval '5 days' or t.verified and e.verified_at is null
      or f.since <= t.at - interval '24 hours' and (e.noticed_at >= e.failing_since) is not true
    for no key update of e skip locked
  )
  update endpoints e set failing_since = c.since, noticed_at = coalesce(c.noticed, e.noticed_at), verified_at = coalesce(e.verified_at, case when c.verified then now() end),
    disabled_reason = coalesce(e.disabled_reason, case when c.gone then 'gone' when c.ends then 'failures' end)
  from changed c where e.id = c.endpoint_id;
end $$;

-- prune_outbox removes up to the given number of rows of each kind: attempts after 7 days, events with their deliveries, and mails, after 30, and what waits for a
-- disabled endpoint. Of an endpoint's backlog beyond longest it drops the oldest events of pets and orders, and tells the endpoint how many. It returns
-- whether there may be more.
create function prune_outbox(most integer, longest integer) returns boolean language plpgsql security definer as $$
declare
  e    record;
  n    integer;
  more boolean := false;
begin
  if not retention_turn() then
    return false;
  end if;
  delete from attempts a where (a.endpoint_id, a.delivery_id, a.attempt) in (
    select o.endpoint_id, o.delivery_id, o.attempt from attempts o where o.at < now() - interval '7 days' order by o.at limit most);
  get diagnostics n = row_count;
  more := n = most;
  delete from events v where v.id in (
    select o.id from events o where o.created_at < now() - interval '30 days' order by o.created_at limit most for update skip locked);
  get diagnostics n = row_count;
  more := more or n = most;
  delete from mails m where m.event_id is null and m.created_at < now() - interval '30 days';
  delete from once o where o.told_at < now() - interval '400 days';
  delete from tenant_days d where d.day < (now() at time zone 'UTC')::date - 1;
  delete from outbox_servers s where s.seen_at < now() - interval '1 day';
  delete from endpoint_secrets x where x.ends_at < now();
  for e in select p.id, p.tenant_id, p.environment, p.status, w.n from endpoints p
    cross join lateral (select count(*) as n from deliveries d where d.endpoint_id = p.id and d.done_at is null and d.due_at < 'infinity') w
    where w.n > case p.status when 'disabled' then 0 else longest end
  loop
    update deliveries d set done_at = now(), result = 'dropped' where d.endpoint_id = e.id and d.id in (
      select o.id from deliveries o join events v on v.id = o.event_id
      where o.endpoint_id = e.id and o.done_at is null and o.due_at < 'infinity' and (e.status = 'disabled' or v.type ~ '^(pet|order)\.')
      order by o.id limit least(most, case e.status when 'disabled' then most else e.n - longest end) for update of o skip locked);
    get diagnostics n = row_count;
    more := more or n = most;
    if n > 0 and e.status <> 'disabled' then
      insert into deliveries (endpoint_id, tenant_id, event_id)
      select e.id, e.tenant_id, add_event(e.tenant_id, e.environment, 'events.dropped', jsonb_build_object('count', n));
    end if;
  end loop;
  return more;
end $$;

-- report_outbox notes the keys that a server has, none without webhooks, and what its relay of mail said, and returns what waits. Only what should be
-- delivered by now is in oldest: deliveries to endpoints that answer and whose secrets this server opens. oldest_mail is of mails that were not tried yet.
create function report_outbox(by uuid, known text[], relay text, out endpoints bigint, out disabled bigint, out waiting bigint, out oldest interval,
  out held bigint, out addresses bigint, out mails bigint, out oldest_mail interval) language plpgsql security definer as $$
begin
  insert into outbox_servers as s (holder, keys, seen_at, mail) values (by, known, now(), relay)
  on conflict (holder) do update set keys = excluded.keys, seen_at = excluded.seen_at, mail = excluded.mail;
  select count(*) filter (where e.status <> 'disabled'), count(*) filter (where e.disabled_reason in ('gone', 'failures')), coalesce(sum(w.n), 0),
         coalesce(max(now() - w.due_at) filter (where e.status = 'enabled' and e.failing_since is null
           and exists (select from endpoint_secrets x where x.endpoint_id = e.id and x.ends_at is null and x.key_id = any (known))), '0'),
         coalesce(sum(w.held), 0) + (select count(*) from mails m where m.due_at = 'infinity' and m.done_at is null)
  into endpoints, disabled, waiting, oldest, held
  from endpoints e cross join lateral (
    select count(*) filter (where d.due_at <= now()) as n, count(*) filter (where d.due_at = 'infinity') as held, min(d.due_at) filter (where d.rank < 2 and d.due_at <= now()) as due_at
    from deliveries d where d.endpoint_id = e.id and d.done_at is null and e.status <> 'disabled'
  ) w;
  select count(*) into addresses from mailboxes;
  select count(*), coalesce(max(now() - m.created_at) filter (where m.attempts = 0), '0') into mails, oldest_mail
  from mails m where m.done_at is null and m.due_at < 'infinity';
end $$;

-- outbox_keys has the keys of the servers that reported within a minute, and how many secrets are sealed with each key.
create function outbox_keys() returns table (holder uuid, keys text[], key_id text, secrets bigint) language sql stable security definer as $$
  select s.holder, s.keys, null, null from outbox_servers s where s.seen_at > now() - interval '1 minute'
  union all
  select null, null, x.key_id, count(*) from endpoint_secrets x where (x.ends_at > now()) is not false group by x.key_id
$$;

-- stale_secrets returns secrets that are sealed with one of the later keys, and reseal_secret replaces one.
create function stale_secrets(keys text[], most integer) returns setof endpoint_secrets language sql stable security definer as $$
  select x.* from endpoint_secrets x where x.key_id = any (keys[2:]) limit most
$$;
create function reseal_secret(endpoint bigint, was bytea, new_key text, becomes bytea) returns void language sql security definer as $$
  update endpoint_secrets x set key_id = new_key, sealed = becomes where x.endpoint_id = endpoint and x.sealed = was
$$;

-- resume_outbox releases what a restore holds, from an instant on, and drops what is older. It returns the number of each.
create function resume_outbox(since timestamptz, out released bigint, out dropped bigint) language sql security definer as $$
  with moved as (
    update deliveries d set due_at = now(), done_at = case when d.created_at < coalesce(since, '-infinity') then now() end,
      result = case when d.created_at < coalesce(since, '-infinity') then 'dropped' end
    where d.done_at is null and d.due_at = 'infinity' returning d.result
  ), mailed as (
    update mails m set due_at = now(), done_at = case when m.created_at < coalesce(since, '-infinity') then now() end,
      result = case when m.created_at < coalesce(since, '-infinity') then 'dropped' end
    where m.done_at is null and m.due_at = 'infinity' returning m.result
  )
  select count(*) filter (where result is null), count(*) filter (where result is not null)
  from (select * from moved union all select * from mailed) m
$$;

do $$
begin
  execute (select string_agg(format('alter function %s set search_path = pg_catalog, %I, pg_temp', p.oid::regprocedure, current_schema()), ';')
    from pg_proc p where p.prosecdef and p.proconfig is null and p.pronamespace = current_schema()::regnamespace);
end $$;
grant execute on function claim_deliveries, finish_deliveries, prune_outbox, report_outbox, stale_secrets, reseal_secret to petstore_api;
grant execute on function outbox_keys to petstore_api, petstore_support;
grant execute on function resume_outbox to petstore_support;
grant select on endpoints, deliveries, attempts to petstore_support;
grant update (disabled_reason, version) on endpoints to petstore_support;
grant select (id, type, created_at, environment) on events to petstore_support;
