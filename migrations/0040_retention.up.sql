-- How long what is kept for a time is kept. The owner changes it, servers remove what is older (docs/retention.md).

create table retention (
  kind      text primary key,
  keep      interval not null,
  -- Other parts rely on what is younger.
  least     interval not null,
  -- Nothing is removed before. So there is time to choose another keep after the migration that began to remove it.
  begins_at timestamptz not null default now() + interval '7 days' check (isfinite(begins_at)),
  -- When servers last removed what there was to remove, and how many rows since the table was made.
  run_at    timestamptz check (isfinite(run_at)),
  removed   bigint not null default 0,
  check (keep >= least)
);
insert into retention (kind, keep, least, begins_at) values
  ('hourly_usage', '90 days', '40 days', now() + interval '7 days'),
  ('bans', '365 days', '30 days', now() + interval '7 days'),
  ('ended_keys', '365 days', '30 days', now() + interval '7 days'),
  ('failed_requests', '1 day', '1 hour', now());

-- retention_before returns before when what ended is removed.
create function retention_before(of_kind text) returns timestamptz language sql stable as $$
  select case when r.begins_at <= now() then now() - r.keep else timestamptz '-infinity' end from retention r where r.kind = of_kind
$$;

-- retention_turn lets one session at a time remove something, until its transaction ends.
create function retention_turn() returns boolean language sql as $$
  select pg_try_advisory_xact_lock(hashtextextended('petstore retention', 0))
$$;

-- note_retention counts what was removed, and says that it is all there was to remove.
create function note_retention(of_kind text, rows bigint, finished boolean) returns void language sql as $$
  update retention set removed = removed + rows, run_at = case when finished then now() else run_at end
  where kind = of_kind and (rows > 0 or run_at is null or run_at < now() - interval '30 seconds')
$$;

-- Each of the following removes a batch of at most so many rows, and returns how many; fewer when there is nothing left, and -1 while
-- another session removes something.

create index bans_by_end on bans (least(ends_at, lifted_at));
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

-- prune_keys removes keys that were revoked, or have expired, and the failed requests that name them. A key that has a ban stays until the
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

-- prune_failed_requests removes at most so many failed requests from before the instant that are older than they are kept, and of those
-- without a key all but the latest 10,000. It returns how many.
create or replace function prune_failed_requests(before timestamptz, most integer) returns integer language plpgsql security definer as $$
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

-- roll_up_usage sums the hours of the oldest partition of usage_hourly into days, tenant by tenant, and then puts the days in its place.
-- Nothing is removed until all of it is summed, so readers see hours or days, and never both or none. A month must be closed and sealed:
-- nothing is added to it any more. A batch has about that many rows, at least those of one tenant in one month.
--
-- Each batch proves in its transaction that the hours are those that were sealed, and that the days have the same sums. The last
-- transaction proves it once more of the whole partition.
--
-- It returns how many hours it summed, and the state:
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

-- end_roll_up puts the days of a partition in its place, and reports whether it did. It waits for readers for a moment only: otherwise the
-- next run tries again. It reads the whole partition, so it first looks whether it would get the locks, and gives them back: readers do
-- not wait meanwhile.
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

do $$
declare
  f regprocedure;
begin
  for f in select oid from pg_proc where pronamespace = current_schema()::regnamespace
             and proname in ('prune_bans', 'prune_keys', 'prune_failed_requests', 'roll_up_usage') loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

grant select on retention to petstore_support, petstore_billing;
grant execute on function prune_bans, prune_keys, roll_up_usage to petstore_api;
