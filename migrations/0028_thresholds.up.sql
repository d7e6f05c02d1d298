lock table usage_months in share row exclusive mode;
create function days_of(tenants bigint[], hours bigint[], closed bigint) returns table (tenant_id bigint, day date) language sql stable as $$
  select distinct c.id, (to_timestamp(c.hour) at time zone 'UTC')::date from unnest(tenants, hours) c (id, hour) where c.hour between closed and 253402300799
$$;

-- begin_days makes and locks the days of a batch, in one order, before something is added, and sums anew those that transactions may have missed.
create function begin_days(tenants bigint[], hours bigint[], closed bigint) returns void language plpgsql as $$
declare
  ids  bigint[];
  days date[];
begin
  select array_agg(c.tenant_id), array_agg(c.day) into ids, days from days_of(tenants, hours, closed) c
  where exists (select from tenant_days d where d.tenant_id = c.tenant_id and d.day = c.day)
    or exists (select from endpoints e where e.tenant_id = c.tenant_id)
    or exists (select from mailboxes m where m.tenant_id = c.tenant_id and m.state = 'confirmed');
  if ids is null then
    return;
  end if;
  insert into tenant_days (tenant_id, day)
  select c.id, c.day from unnest(ids, days) c (id, day) where not exists (select from tenant_days d where d.tenant_id = c.id and d.day = c.day)
  order by 1, 2 on conflict do nothing;
  perform from tenant_days d join unnest(ids, days) c (id, day) on d.tenant_id = c.id and d.day = c.day order by d.tenant_id, d.day for no key update of d;
  update tenant_days d set begun = case when d.begun > pg_snapshot_xmin(pg_current_snapshot()) then d.begun end, admitted = coalesce((
    select sum(u.admitted) from usage_hourly u where u.tenant_id = d.tenant_id and u.hour >= d.day::timestamp at time zone 'UTC'
      and u.hour < (d.day + 1)::timestamp at time zone 'UTC'), 0)
  from unnest(ids, days) c (id, day) where d.tenant_id = c.id and d.day = c.day and d.begun is not null;
end $$;

-- tell_thresholds tells what the use of windows, day or month, has reached of the limits in force, the lowest first. What a month includes is refused
-- above only if the plan allows nothing more.
create function tell_thresholds(tenants bigint[], windows text[], ends timestamptz[], uses bigint[]) returns void language plpgsql as $$
declare
  -- The transaction may have waited for others, which counted under a later limit.
  present timestamptz := clock_timestamp();
begin
  perform emit_once(s.tenant, 'live', 'quota.threshold_reached', s.subject, s.resets, 'infinity', jsonb_build_object('window', s.of_window,
    'percent', s.percent, 'limit', s.n, 'enforced', s.enforced, 'used', s.used, 'resetsAt', audit_instant(s.resets)))
  from (
    select w.*, l.*, o.subject from unnest(tenants, windows, ends, uses) w (tenant, of_window, resets, used)
    cross join lateral (
      select * from quota_periods q where q.tenant_id = w.tenant and q.valid_from <= present and (q.valid_to > present) is not false offset 0) q
    cross join lateral (values ('day', q.per_day, 80, true), ('day', q.per_day, 100, true), ('month', q.per_month, 80, coalesce(q.overage_limit = 0, false)),
      ('month', q.per_month, 100, coalesce(q.overage_limit = 0, false)), ('month', q.per_month + nullif(q.overage_limit, 0), 100, true)
    ) l (name, n, percent, enforced)
    cross join lateral (select format('%s/%s/%s', l.name, l.n, l.percent) as subject) o
    where l.name = w.of_window and l.n > 0 and w.used * 100.0 >= l.n * l.percent
    order by w.tenant, w.of_window, w.resets, l.n * l.percent
  ) s
  where not exists (
    select from once o where o.tenant_id = s.tenant and o.kind = 'quota.threshold_reached' and o.subject = s.subject and o.instant = s.resets offset 0);
end $$;

-- tell_recorded tells what the days and the months of a batch have reached. Their rows are locked since it began.
create function tell_recorded(tenants bigint[], hours bigint[], closed bigint) returns void language plpgsql as $$
begin
  perform tell_thresholds(array_agg(w.tenant_id), array_agg(w.name), array_agg(w.ends at time zone 'UTC'), array_agg(w.admitted))
  from (
    with d as (select t.* from tenant_days t join days_of(tenants, hours, closed) c using (tenant_id, day))
    select d.tenant_id, 'day' as name, (d.day + 1)::timestamp as ends, d.admitted from d
    union
    select m.tenant_id, 'month', m.month + interval '1 month', m.admitted
    from d join tenant_months m on m.tenant_id = d.tenant_id and m.month = date_trunc('month', d.day)::date
  ) w having count(*) > 0;
end $$;

-- tell_refusals is told that windows with these limits have refused requests: what was admitted may never be recorded.
create function tell_refusals(tenants bigint[], windows text[], limits bigint[], resets bigint[]) returns void language sql security definer as $$
  select tell_thresholds(tenants, windows, array(select to_timestamp(r.at) from unnest(resets) with ordinality r (at, i) order by r.i), limits)
$$;

-- The triggers of usage_hourly count the days too. add_usage is that of 0022, and begins and tells them.
do $$
declare
  was text := pg_get_functiondef('count_in_months'::regproc);
  becomes text := replace(was, E'begin\n  select array_agg(s.id)', $sql$begin
  update tenant_days d set admitted = d.admitted + c.n
  from (
    select t.tenant_id, t.day, sum(u.n) as n from unnest(tenants, hours, counts) as u (id, hour, n)
    join tenant_days t on t.tenant_id = u.id and t.day = (u.hour at time zone 'UTC')::date where u.n <> 0 group by 1, 2
  ) c
  where d.tenant_id = c.tenant_id and d.day = c.day;

  select array_agg(s.id)$sql$);
begin
  if was = becomes then
    raise exception 'count_in_months is another function than expected';
  end if;
  execute becomes;
  was := pg_get_functiondef('add_usage'::regproc);
  becomes := replace(replace(was, '  -- See count_in_months.', E'  perform begin_days(tenants, hours, closed);\n  -- See count_in_months.'),
    E'  with uses as (\n', E'  perform tell_recorded(tenants, hours, closed);\n\n  with uses as (\n');
  if becomes not like '%begin_days%tell_recorded%' then
    raise exception 'add_usage is another function than expected';
  end if;
  execute becomes;
end $$;

-- month.closed goes to the tenants with a line of the month, when it is sealed.
create function emit_month() returns trigger language plpgsql security definer as $$
begin
  perform emit(t.tenant_id, 'live', 'month.closed', jsonb_build_object('month', to_char(new.month, 'YYYY-MM'), 'sha256', encode(new.sha256, 'hex')))
  from told t where exists (select from usage_lines l where l.month = new.month and l.tenant_id = t.tenant_id);
  return null;
end $$;
create trigger usage_months_sealed after update on usage_months for each row when (old.sha256 is null and new.sha256 is not null)
  execute function emit_month();

do $$
begin
  execute (select string_agg(format('alter function %s set search_path = pg_catalog, %I, pg_temp', p.oid::regprocedure, current_schema()), ';')
    from pg_proc p where p.prosecdef and p.proconfig is null and p.pronamespace = current_schema()::regnamespace);
end $$;
grant execute on function tell_refusals to petstore_api;
