lock table tenants, tenant_plans, usage_hourly in share row exclusive mode;
-- A month is closed in two steps. From begin_closing on, its usage does not change: later usage goes to usage_late, as a correction in the
-- first open month. Then its lines are written and sealed by one SHA-256. Neither is ever changed.
create table usage_months (
  month     date        primary key check (extract(day from month) = 1),
  -- The servers that had not delivered everything and were not waited for.
  without   text[]      not null default '{}'::text[],
  begun_at  timestamptz not null default now(),
  begun_by  text        not null default session_user,
  -- The columns from here on are set when the month is sealed. The format is that of the lines' canonical form.
  format    text,
  tenants   bigint,
  lines     bigint,
  admitted  bigint,
  refused   bigint,
  -- The SHA-256 of all lines' forms.
  sha256    bytea       check (length(sha256) = 32),
  sealed_at timestamptz,
  sealed_by text,
  -- The assignments that were void when the month was closed. Its lines, and those of later months, follow from them, whatever becomes void
  -- or is restored afterwards. It is an array, like without, because mistakes are few.
  void      bigint[]    not null default '{}'::bigint[],
  constraint usage_months_check check (num_nulls(format, tenants, lines, admitted, refused, sha256, sealed_at, sealed_by) = ANY (array[0, 8]))
);

-- The lines of sealed months, in their canonical form (docs/billing.md). The generated columns are members of the form. There are no
-- references, because sealed lines stay when the tenant is removed.
create table usage_lines (
  month      date    not null references usage_months(month),
  tenant_id  bigint  not null,
  number     integer not null check (number > 0),
  form       text    not null,
  sha256     bytea   not null check (length(sha256) = 32),
  assignment bigint  not null generated always as ((((form)::jsonb ->> 'assignment'))::bigint) stored,
  version    integer not null generated always as ((((form)::jsonb ->> 'version'))::integer) stored,
  corrects   text    generated always as (((form)::jsonb ->> 'corrects')) stored,
  void       boolean not null generated always as ((((form)::jsonb ->> 'void'))::boolean) stored,
  constraint usage_lines_pkey primary key (month, tenant_id, number)
);
create index usage_lines_by_tenant on usage_lines (tenant_id, assignment, version);

-- Usage that arrived after its month was closed. admitted is negative for refunds.
create table usage_late (
  id         bigint      generated always as identity primary key,
  -- The month in which it is a correction: the first one that was open when it arrived.
  month      date        not null check (extract(day from month) = 1),
  tenant_id  bigint      not null references tenants(id),
  hour       timestamptz not null,
  key_id     text        not null,
  assignment bigint      not null,
  version    integer     not null,
  admitted   bigint      not null,
  refused    bigint      not null,
  server_id  text        not null,
  arrived_at timestamptz not null default now(),
  constraint usage_late_tenant_id_assignment_fkey foreign key (tenant_id, assignment) references tenant_plans(tenant_id, id)
);
create index usage_late_by_tenant on usage_late (tenant_id, month);
create index usage_late_by_month on usage_late (month);
create index usage_late_by_hour on usage_late (hour, tenant_id);
-- For receivers, usage that arrived after its month was closed counts in the hour of its arrival, but not after the month in which it is a
-- correction: they may not add to what they have invoiced.
create index usage_late_by_count on usage_late (
  (least(date_trunc('hour', arrived_at at time zone 'UTC'), month + interval '1 month' - interval '1 hour') at time zone 'UTC'), tenant_id);

-- The namespace of the IDs of events. A dump and restore of the database keeps it.
create table event_source (
  is_source boolean default true primary key check (is_source),
  id        uuid    not null default gen_random_uuid()
);
insert into event_source default values;

-- The receivers of events, by names that staff choose.
create table receivers (
  name      text        primary key check (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
  format    text        not null,
  -- The receiver's first hour. It gets no corrections of earlier ones.
  begins    timestamptz not null check (isfinite(begins)),
  -- The instant up to which usage hand-on has stored the events of all tenants.
  handed_to timestamptz check (isfinite(handed_to))
);

-- One row for each event that was written or stored for a receiver. The events of a tenant, an hour and an assignment add up to the
-- receiver's usage of it, at the latest when all are sent. Rows are only added, and only the state of the event changes. They refer to no
-- other table, because they stay when the tenant is removed.
create table sent_events (
  receiver    text        not null check (receiver ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
  hour        timestamptz not null check (isfinite(hour)),
  tenant_id   bigint      not null,
  assignment  bigint      not null,
  -- 0 for the first event, and one more for each correction
  correction  integer     not null check (correction >= 0),
  event_id    uuid        not null,
  format      text        not null,
  -- The hour in which the receiver counts the event. It differs for a correction of a closed month.
  counted_at  timestamptz not null check (isfinite(counted_at)),
  billing_ref text        not null,
  version     integer     not null,
  admitted    bigint      not null,
  refused     bigint      not null,
  sent_at     timestamptz not null default now(),
  sent_by     text        not null default session_user,
  -- waiting: usage hand-on sends it. arrived: the receiver has it, or a person sends it. refused: set aside for a person, because the receiver
  -- does not take it. unknown: set aside too, because the receiver may have it and no longer knows its ID. unsent: it only balances an event
  -- that never counted.
  state       text        not null default 'arrived' check (state in ('waiting', 'arrived', 'refused', 'unknown', 'unsent')),
  -- For usage hand-on: it sends events in this order until they have arrived. body is an event's part of a request's body.
  number      bigint      generated always as identity,
  body        text,
  -- The number of tries, the first try after which the receiver may have it, and 200 characters of the last reply.
  attempts    integer     not null default 0,
  tried_at    timestamptz,
  reply       text        not null default '',
  constraint sent_events_pkey primary key (receiver, hour, tenant_id, assignment, correction)
);
create index sent_events_late on sent_events (receiver, counted_at, tenant_id) where counted_at <> hour;
create index sent_events_to_send on sent_events (receiver, number) where state not in ('arrived', 'unsent');

-- How long each kind of data is kept. The owner changes it; servers remove older data (docs/retention.md).
create table retention (
  kind      text        primary key,
  keep      interval    not null,
  -- The minimum for keep, because other parts need younger data.
  least     interval    not null,
  -- Nothing is removed before this time, so there is time to choose another keep.
  begins_at timestamptz not null default (now() + '7 days') check (isfinite(begins_at)),
  -- When servers last removed everything due, and the number of rows removed since the table was made.
  run_at    timestamptz check (isfinite(run_at)),
  removed   bigint      not null default 0,
  constraint retention_check check (keep >= "least")
);

-- All recorded usage, whenever it arrived.
create view usage_recorded as
select tenant_id, hour, key_id, assignment, version, admitted, refused from usage_in_time
union all
select tenant_id, hour, key_id, assignment, version, admitted, refused from usage_late;

-- All usage for receivers. counted_at is its hour; for late usage it is the hour of arrival, or the last hour of the month in which it is a
-- correction if that is earlier.
create view usage_arrived as
select tenant_id, hour, hour as counted_at, key_id, assignment, version, admitted, refused from usage_in_time
union all
select tenant_id, hour, least(date_trunc('hour', arrived_at at time zone 'UTC'), month + interval '1 month' - interval '1 hour') at time zone 'UTC',
       key_id, assignment, version, admitted, refused
from usage_late;

-- Usage with the hour in which it counts for receivers. Usage under an assignment that is marked void does not count. If its month was
-- closed before that, it counted, and is taken back in the hour in which the assignment was marked.
create view usage_counted as
select u.tenant_id, u.hour, u.counted_at, u.key_id, u.assignment, u.version, u.admitted, u.refused
from usage_arrived u
where not exists (
  select from tenant_plans a
  where a.tenant_id = u.tenant_id and a.id = u.assignment and a.voided_at is not null and not exists (
    select from usage_months m where m.month = date_trunc('month', u.counted_at at time zone 'UTC')::date and m.begun_at <= a.voided_at
  )
)
union all
select u.tenant_id, u.hour, date_trunc('hour', a.voided_at at time zone 'UTC') at time zone 'UTC', u.key_id, u.assignment, u.version, -u.admitted, -u.refused
from tenant_plans a
join usage_arrived u on u.tenant_id = a.tenant_id and u.assignment = a.id
where a.voided_at is not null and exists (
  select from usage_months m where m.month = date_trunc('month', u.counted_at at time zone 'UTC')::date and m.begun_at <= a.voided_at
);

-- The servers that may still deliver usage, each with the instant up to which it has delivered everything, null for none. A server that was
-- left out once and has been silent since is left out again.
create view usage_deliveries as
select server_id, delivered_to, written_at from usage_writers
where left_out_at is null or written_at > left_out_at;

-- The audit trail's entries about closed months, all that billing may read of the trail.
create view usage_closings as
select number, at, login, after, hash from audit_entries where action = 'usage.close';

insert into retention (kind, keep, least, begins_at) values
  ('hourly_usage', '90 days', '40 days', now() + interval '7 days'),
  ('bans', '365 days', '30 days', now() + interval '7 days'),
  ('ended_keys', '365 days', '30 days', now() + interval '7 days'),
  ('failed_requests', '1 day', '1 hour', now()),
  ('audit', '2557 days', '366 days', now() + interval '7 days');

-- Everything before this instant is closed. Every batch of usage calls this function, and plpgsql keeps its plan for the session.
create function closed_until() returns timestamptz language plpgsql stable as $$
begin
  return coalesce((select (m.month + interval '1 month') at time zone 'UTC' from usage_months m order by m.month desc limit 1), timestamptz 'epoch');
end $$;

-- The first month before $1 that is open and has usage or corrections; null for none.
create function open_month_before(date) returns date language sql stable as $$
  select least(
    (select date_trunc('month', min(u.hour), 'UTC') at time zone 'UTC' from usage_hourly u
     where u.hour >= closed_until() and u.hour < $1::timestamp at time zone 'UTC'),
    (select min(l.month) from usage_late l
     where l.month < $1 and not exists (select from usage_months m where m.month = l.month)))::date
$$;

-- begin_closing closes a month that has ended, unless a later one is closed: that month's lines already have late usage of this one as a
-- correction. It returns the servers that it did not wait for: those in leave_out, and those forgotten since an earlier month was closed
-- without them.
create function begin_closing(closed date, inout leave_out text[]) language plpgsql security definer as $$
declare
  earlier date;
begin
  -- Batches hold this table in the mode ROW SHARE. Those under way are complete afterwards, the others see the closed month.
  lock table usage_months in exclusive mode;
  if exists (select from usage_months m where m.month = closed) then
    return;
  end if;
  if (closed + interval '1 month') at time zone 'UTC' > now() then
    raise exception '% has not ended', to_char(closed, 'YYYY-MM') using errcode = 'check_violation', constraint = 'usage_months_open';
  end if;
  if exists (select from usage_months m where m.month > closed) then
    raise exception 'a later month is closed' using errcode = 'check_violation', constraint = 'usage_months_later';
  end if;
  earlier := open_month_before(closed);
  if earlier is not null then
    raise exception '% is open', to_char(earlier, 'YYYY-MM') using errcode = 'check_violation', constraint = 'usage_months_order';
  end if;
  update usage_writers set left_out_at = now() where server_id = any (leave_out);
  leave_out := leave_out || array(
    select w.server_id from usage_writers w
    where w.left_out_at >= w.written_at and w.server_id <> all (leave_out)
      and (w.delivered_to is null or w.delivered_to < (closed + interval '1 month') at time zone 'UTC')
      and not exists (select from usage_months m where w.server_id = any (m.without) and m.begun_at >= w.left_out_at)
    order by w.server_id
  );
  insert into usage_months (month, without, void)
  values (closed, leave_out, array(select a.id from tenant_plans a where a.voided_at is not null order by a.id));
end $$;

create function check_usage_month() returns trigger language plpgsql as $$
begin
  if tg_op in ('DELETE', 'TRUNCATE') or tg_op = 'UPDATE' and (old.sealed_at is not null
       or (new.month, new.without, new.void, new.begun_at, new.begun_by) is distinct from (old.month, old.without, old.void, old.begun_at, old.begun_by)) then
    raise exception 'a closed month is never changed' using errcode = 'check_violation', constraint = 'usage_months_closed';
  end if;
  if tg_op = 'UPDATE' then
    new.sealed_at := now();
    new.sealed_by := session_user;
  end if;
  return new;
end $$;
create trigger usage_months_check before update or delete on usage_months for each row execute function check_usage_month();
create trigger usage_months_truncate before truncate on usage_months for each statement execute function check_usage_month();

create function check_usage_lines() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' or exists (select from added l join usage_months m using (month) where m.sealed_at is not null) then
    raise exception 'the lines of a closed month are never changed' using errcode = 'check_violation', constraint = 'usage_months_closed';
  end if;
  return null;
end $$;
create trigger usage_lines_insert after insert on usage_lines referencing new table as added for each statement execute function check_usage_lines();
create trigger usage_lines_check before delete or truncate on usage_lines for each statement execute function check_usage_lines();

create function check_usage_line() returns trigger language plpgsql as $$
begin
  if (new.month, new.tenant_id, new.number, new.sha256) is distinct from (old.month, old.tenant_id, old.number, old.sha256)
     or new.form::jsonb is distinct from jsonb_set(old.form::jsonb, '{tenant}', to_jsonb('erased-' || old.tenant_id))
     or not exists (select from tenants t where t.id = old.tenant_id and t.erased_at is not null) then
    raise exception 'the lines of a closed month are never changed' using errcode = 'check_violation', constraint = 'usage_months_closed';
  end if;
  return new;
end $$;
create trigger usage_lines_redact before update on usage_lines for each row execute function check_usage_line();

create function refuse_late_usage() returns trigger language plpgsql as $$
begin
  raise exception 'late usage is only added to' using errcode = 'check_violation', constraint = 'usage_months_closed';
end $$;
create trigger usage_late_check before update or delete or truncate on usage_late for each statement execute function refuse_late_usage();

create function check_closed_usage() returns trigger language plpgsql as $$
declare
  until constant timestamptz := closed_until();
  closed boolean;
begin
  case tg_op
    when 'TRUNCATE' then closed := until > 'epoch';
    when 'INSERT' then closed := exists (select from added u where u.hour < until);
    when 'DELETE' then closed := exists (select from removed u where u.hour < until);
    else closed := exists (select from added u where u.hour < until) or exists (select from removed u where u.hour < until);
  end case;
  if closed then
    raise exception 'the usage of a closed month is never changed: what arrives late corrects it in the next'
      using errcode = 'check_violation', constraint = 'usage_months_closed';
  end if;
  return null;
end $$;
create trigger usage_hourly_closed_insert after insert on usage_hourly referencing new table as added
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_update after update on usage_hourly referencing old table as removed new table as added
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_delete after delete on usage_hourly referencing old table as removed
  for each statement execute function check_closed_usage();
create trigger usage_hourly_closed_truncate before truncate on usage_hourly for each statement execute function check_closed_usage();

-- month_usage sums the recorded usage of a tenant in a month, by UTC day and key. It also sums, by month and key, the late usage that corrects
-- an earlier month in this one. It has the names of keys that still exist.
create function month_usage(tenant bigint, begins timestamptz, ends timestamptz)
returns table (starts timestamptz, corrects boolean, key_id text, key_name text, admitted bigint, refused bigint)
language sql stable security definer as $$
  select u.starts, u.corrects, u.key_id, coalesce((select k.name from api_keys k where k.id = u.key_id and k.tenant_id = tenant), ''), u.admitted, u.refused
  from (
    select date_trunc('day', i.hour, 'UTC') as starts, false as corrects, i.key_id, sum(i.admitted)::bigint as admitted, sum(i.refused)::bigint as refused
    from usage_in_time i where i.tenant_id = tenant and i.hour >= begins and i.hour < ends
    group by 1, 3
    union all
    select date_trunc('month', l.hour, 'UTC'), true, l.key_id, sum(l.admitted)::bigint, sum(l.refused)::bigint
    from usage_late l where l.tenant_id = tenant and l.month = (begins at time zone 'UTC')::date
    group by 1, 3
  ) u
  order by u.corrects, u.starts, u.key_id collate "C"
$$;

-- retention_before returns the instant before which ended data is removed.
create function retention_before(of_kind text) returns timestamptz language sql stable as $$
  select case when r.begins_at <= now() then now() - r.keep else timestamptz '-infinity' end from retention r where r.kind = of_kind
$$;

-- retention_turn lets one session at a time remove something, until its transaction ends.
create function retention_turn() returns boolean language sql as $$
  select pg_try_advisory_xact_lock(hashtextextended('petstore retention', 0))
$$;

-- note_retention counts removed rows. finished says that all that was due is removed.
create function note_retention(of_kind text, rows bigint, finished boolean) returns void language sql as $$
  update retention set removed = removed + rows, run_at = case when finished then now() else run_at end
  where kind = of_kind and (rows > 0 or run_at is null or run_at < now() - interval '30 seconds')
$$;

-- Each of the following functions removes a batch of up to the given number of rows and returns the number: fewer if nothing is left, -1 while another
-- session removes something.
create function prune_bans(most integer) returns integer language plpgsql security definer as $$
declare
  gone integer;
begin
  if not retention_turn() then
    return -1;
  end if;
  delete from bans b using (
    select o.tenant_id, o.id from bans o where least(o.ends_at, o.lifted_at) < retention_before('bans')
    order by least(o.ends_at, o.lifted_at) limit most for update skip locked
  ) old where b.tenant_id = old.tenant_id and b.id = old.id;
  get diagnostics gone = row_count;
  perform note_retention('bans', gone, gone < most);
  return gone;
end $$;

-- prune_keys removes keys that were revoked or have expired, and the failed requests that name them. A key that has a ban stays until the
-- ban is removed.
create function prune_keys(most integer) returns integer language plpgsql security definer as $$
declare
  before constant timestamptz := retention_before('ended_keys');
  ids    text[];
begin
  if not retention_turn() then
    return -1;
  end if;
  ids := array(
    select k.id from api_keys k
    where k.revoked_at < before and not exists (select from bans b where b.key_id = k.id)
    order by k.revoked_at limit most for update skip locked);
  ids := ids || array(
    select k.id from api_keys k
    where k.revoked_at is null and k.expires_at < before and not exists (select from bans b where b.key_id = k.id)
    order by k.expires_at limit most - cardinality(ids) for update skip locked);
  delete from failed_requests f using api_keys k where k.id = any (ids) and f.tenant_id = k.tenant_id and f.key_id = k.id;
  delete from api_keys k where k.id = any (ids);
  perform note_retention('ended_keys', cardinality(ids), cardinality(ids) < most);
  return cardinality(ids);
end $$;

-- prune_failed_requests removes up to the given number of failed requests and returns their number. It removes requests from before the instant that are
-- past their retention, and requests without a key except the latest 10,000.
create function prune_failed_requests(before timestamptz, most integer) returns integer language plpgsql security definer as $$
declare
  removed integer;
  beyond  integer;
begin
  with old as materialized (
    select f.server_id, f.number from failed_requests f where f.at < least(before, retention_before('failed_requests'))
    order by f.at limit most for update skip locked
  )
  delete from failed_requests f using old o where f.server_id = o.server_id and f.number = o.number;
  get diagnostics removed = row_count;

  with over as materialized (
    select f.server_id, f.number from failed_requests f
    where f.key_id is null
      and f.at < (select s.at from failed_requests s where s.key_id is null order by s.at desc offset 9999 limit 1)
    order by f.at limit most - removed for update skip locked
  )
  delete from failed_requests f using over o where f.server_id = o.server_id and f.number = o.number;
  get diagnostics beyond = row_count;
  perform note_retention('failed_requests', removed + beyond, removed + beyond < most);
  return removed + beyond;
end $$;

-- roll_up_usage sums the hours of the oldest partition of usage_hourly into days, tenant by tenant, and then replaces the hours by the
-- days. Nothing is removed until all of it is summed, so readers see either hours or days. The month must be closed and sealed, so that
-- nothing is added to it any more. A batch has about most rows, but at least those of one tenant in one month.
--
-- Each batch proves in its transaction that the hours are the sealed ones, and that the days have the same sums. The last transaction
-- proves it again for the whole partition.
--
-- It returns the number of summed hours, and the state:
--   more    call it again: the partition is not finished, or another one may follow
--   done    nothing is to be summed now
--   busy    another session removes something
--   locked  a partition is summed, but other sessions read usage, so its days can't be put in its place
create function roll_up_usage(most integer, out hours bigint, out state text) language plpgsql security definer as $$
declare
  p     usage_partitions;
  daily text;
  place constant text := (select c.relnamespace::regnamespace from pg_class c where c.oid = 'usage_daily'::regclass);
  to_tenant bigint;
  to_hour   timestamptz;
  batch constant text := '(u.tenant_id, u.hour) >= ($1, $2) and (u.tenant_id, u.hour) < ($3, $4)';
  wrong record;
  sums  record;
begin
  hours := 0;
  state := 'more';
  if not retention_turn() then
    state := 'busy';
    return;
  end if;
  select * into p from usage_partitions o where o.rolled_at is null order by o.ends limit 1;
  if p.name is null or p.ends > retention_before('hourly_usage') or p.ends > closed_until()
     or exists (select from usage_months m where m.sealed_at is null and m.month < (p.ends at time zone 'UTC')::date) then
    perform note_retention('hourly_usage', 0, true);
    state := 'done';
    return;
  end if;
  daily := replace(p.name, 'hourly', 'daily');
  if p.summed_at is not null then
    if not end_roll_up(p, place, daily) then
      state := 'locked';
    end if;
    return;
  end if;
  if p.begun_at is null then
    execute format('create table %s.%I (like usage_daily including indexes, check (day is not null and day < %L%s))', place, daily, p.ends,
                   coalesce(format(' and day >= %L', p.begins), ''));
    p.begun_at := now();
    p.next_tenant := -9223372036854775808;
    p.next_hour := '-infinity';
  end if;

  execute format('select u.tenant_id, date_trunc(''month'', u.hour, ''UTC'') from %I u where (u.tenant_id, u.hour) >= ($1, $2)
                  order by u.tenant_id, u.hour offset $3 limit 1', p.name)
    into to_tenant, to_hour using p.next_tenant, p.next_hour, most;
  if to_tenant is null then
    to_tenant := 9223372036854775807;
    to_hour := 'infinity';
    p.summed_at := now();
  elsif (to_tenant, to_hour) <= (p.next_tenant, p.next_hour) then
    to_hour := (to_hour at time zone 'UTC' + interval '1 month') at time zone 'UTC';
  end if;

  execute format($q$
    with used as (
      select u.tenant_id, (date_trunc('month', u.hour, 'UTC') at time zone 'UTC')::date as month, u.assignment, u.version,
             sum(u.admitted) as admitted, sum(u.refused) as refused,
             encode(sha256(convert_to(string_agg(
               date_part('epoch', u.hour)::bigint || ' ' || u.key_id || ' ' || u.admitted || ' ' || u.refused || E'\n', ''
               order by u.hour, u.key_id collate "C"), 'UTF8')), 'hex') as recorded
      from %I u where %s group by 1, 2, 3, 4
    ), sealed as (
      select l.tenant_id, l.month, l.assignment, l.version, (l.form::jsonb ->> 'admitted')::numeric as admitted,
             (l.form::jsonb ->> 'refused')::numeric as refused, l.form::jsonb ->> 'recorded_sha256' as recorded
      from usage_months m
      cross join lateral (
        select * from usage_lines l where l.month = m.month and l.corrects is null and l.tenant_id between $1 and $3 offset 0
      ) l
      where m.month < ($6 at time zone 'UTC')::date and ($5 is null or m.month >= ($5 at time zone 'UTC')::date)
        and (l.tenant_id, l.month::timestamp at time zone 'UTC') >= ($1, $2)
        and (l.tenant_id, l.month::timestamp at time zone 'UTC') < ($3, $4)
    )
    select tenant_id, to_char(month, 'YYYY-MM') as month from used u full join sealed s using (tenant_id, month, assignment, version)
    where (coalesce(u.admitted, 0), coalesce(u.refused, 0), coalesce(u.recorded, encode(sha256(''), 'hex')))
          is distinct from (s.admitted, s.refused, s.recorded)
    limit 1 $q$, p.name, batch)
    into wrong using p.next_tenant, p.next_hour, to_tenant, to_hour, p.begins, p.ends;
  if wrong.tenant_id is not null then
    raise exception 'the hours of tenant % in % are not those that were sealed, so they are not removed: see petstorectl usage verify %',
      wrong.tenant_id, wrong.month, wrong.month using errcode = 'check_violation', constraint = 'usage_months_sealed';
  end if;

  execute format($q$
    with days as (
      insert into %s.%I (tenant_id, day, key_id, assignment, version, admitted, refused)
      select u.tenant_id, date_trunc('day', u.hour, 'UTC'), u.key_id, u.assignment, u.version, sum(u.admitted), sum(u.refused)
      from %I u where %s group by 1, 2, 3, 4, 5
      returning admitted, refused
    )
    select h.*, d.* from
      (select count(*) as hours, coalesce(sum(u.admitted), 0) as admitted, coalesce(sum(u.refused), 0) as refused from %3$I u where %4$s) h,
      (select count(*) as days, coalesce(sum(admitted), 0) as days_admitted, coalesce(sum(refused), 0) as days_refused from days) d
    $q$, place, daily, p.name, batch)
    into sums using p.next_tenant, p.next_hour, to_tenant, to_hour;
  if (sums.admitted, sums.refused) is distinct from (sums.days_admitted, sums.days_refused) then
    raise exception 'the days do not have the sums of the hours' using errcode = 'data_corrupted';
  end if;
  update usage_partitions o set
    begun_at = p.begun_at, summed_at = p.summed_at,
    next_tenant = case when p.summed_at is null then to_tenant end, next_hour = case when p.summed_at is null then to_hour end,
    hours = o.hours + sums.hours, days = o.days + sums.days, admitted = o.admitted + sums.admitted, refused = o.refused + sums.refused
  where o.name = p.name;
  perform note_retention('hourly_usage', sums.hours, false);
  hours := sums.hours;
end $$;

-- end_roll_up replaces a partition by its days, and reports whether it did. It waits for readers only a moment; if they last longer, the next run
-- tries again. Reading the whole partition takes long. So it first tries to get the locks, and releases them while it reads: readers do not wait
-- meanwhile.
create function end_roll_up(p usage_partitions, place text, daily text) returns boolean language plpgsql as $$
declare
  hours record;
  days  record;
  bound name;
begin
  perform set_config('lock_timeout', '200ms', true);
  begin
    lock table usage_hourly, usage_daily in access exclusive mode;
    raise exception 'give the locks back' using errcode = 'PR001';
  exception
    when lock_not_available then return false;
    when sqlstate 'PR001' then null;
  end;
  execute format('select count(*), coalesce(sum(admitted), 0) as admitted, coalesce(sum(refused), 0) as refused from %s.%I', place, p.name) into hours;
  execute format('select count(*), coalesce(sum(admitted), 0) as admitted, coalesce(sum(refused), 0) as refused from %s.%I', place, daily) into days;
  if (hours.count, hours.admitted, hours.refused) is distinct from (p.hours, p.admitted, p.refused)
     or (days.count, days.admitted, days.refused) is distinct from (p.days, p.admitted, p.refused) then
    raise exception 'the days of % do not have the sums of its hours, so these are not removed', p.name using errcode = 'data_corrupted';
  end if;
  begin
    lock table usage_hourly, usage_daily in access exclusive mode;
  exception when lock_not_available then
    return false;
  end;
  execute format('alter table usage_daily attach partition %s.%I for values from (%s) to (%L)', place, daily, coalesce(quote_literal(p.begins), 'minvalue'), p.ends);
  for bound in select c.conname from pg_constraint c where c.conrelid = format('%s.%I', place, daily)::regclass and c.contype = 'c' loop
    execute format('alter table %s.%I drop constraint %I', place, daily, bound);
  end loop;
  execute format('drop table %s.%I', place, p.name);
  update usage_partitions o set rolled_at = now() where o.name = p.name;
  return true;
end $$;

grant select, update (format, tenants, lines, admitted, refused, sha256) on usage_months to petstore_billing;
grant select on usage_months, usage_lines, usage_late, retention, usage_recorded, usage_deliveries, usage_closings to petstore_support;
grant select on usage_late, event_source, retention, usage_recorded, usage_counted, usage_deliveries, usage_closings to petstore_billing;
grant select on usage_deliveries to petstore_api;
grant insert (month, tenant_id, number, form, sha256), select on usage_lines to petstore_billing;
grant insert (receiver, hour, tenant_id, assignment, correction, event_id, format, counted_at, billing_ref, version, admitted, refused, state, body),
  update (state, body, attempts, tried_at, reply), select on sent_events to petstore_billing;
grant insert, update (format, begins, handed_to), select on receivers to petstore_billing;
grant execute on function closed_until, open_month_before to petstore_billing, petstore_support;
grant execute on function begin_closing to petstore_billing;
grant execute on function month_usage, prune_bans, prune_keys, prune_failed_requests, roll_up_usage to petstore_api;
