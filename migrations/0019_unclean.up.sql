-- What is known when a server ends silently: how many requests all servers recorded of a tenant's minute, which servers may have
-- admitted some that they have not recorded, and how much of a counter is therefore not known to be used.

-- The latest minute of the row's requests, how many of them it has, and how many the minute before has. Minutes are numbered as in
-- limit_states.
alter table usage_hourly
  add minute      bigint not null default 0,
  add in_minute   bigint not null default 0,
  add in_previous bigint not null default 0;

drop function add_usage;
-- add_usage adds a batch of a server, unless its number shows that it was added before, and reports whether it did. The rows of
-- $3 to $11 are what was counted, those of $12 and $13 when keys were last used. Servers lock shared rows in the same order.
--
-- What is recorded only grows, with one exception: a request that was refunded after it was recorded. Such a refund is negative,
-- lowers the hour of its request to 0 at most, and is for the last day only. Counts of deleted keys, tenants and plans are left out,
-- and so are hours that cannot be shown. A row grows to 10^12 at most, so that no sum overflows, which would stop all recording.
create function add_usage(
  server text, number bigint,
  tenants bigint[], hours bigint[], key_ids text[], plan_names text[], admits bigint[], refuses bigint[],
  minutes bigint[], in_minutes bigint[], in_previouses bigint[], used_keys text[], used_micros bigint[]
) returns boolean language plpgsql security definer as $$
declare
  most   constant bigint := 1000000000000;
  -- No minute of the future is taken: it would hide those that follow. The number of the present minute differs between tenants.
  latest constant bigint := extract(epoch from now())::bigint / 60 + 1;
begin
  -- A first attempt that still runs holds the row of the server, and the second waits for it.
  insert into usage_writers as w (server_id, batch, written_at) values (server, number, now())
  on conflict (server_id) do update set batch = excluded.batch, written_at = excluded.written_at
  where w.batch < excluded.batch;
  if not found then
    return false;
  end if;

  if 0 > any (refuses) then
    raise exception 'usage is only added to' using errcode = 'insufficient_privilege';
  end if;
  insert into usage_hourly as u (tenant_id, hour, key_id, plan, admitted, refused, minute, in_minute, in_previous)
  select c.tenant_id, to_timestamp(c.hour), c.key_id, c.plan, least(greatest(c.admitted, 0), most), least(c.refused, most),
    case when c.minute between 0 and latest then c.minute else 0 end,
    case when c.minute between 0 and latest then least(greatest(c.in_minute, 0), most) else 0 end,
    case when c.minute between 0 and latest then least(greatest(c.in_previous, 0), most) else 0 end
  from unnest(tenants, hours, key_ids, plan_names, admits, refuses, minutes, in_minutes, in_previouses)
    as c (tenant_id, hour, key_id, plan, admitted, refused, minute, in_minute, in_previous)
  join api_keys k on k.id = c.key_id and k.tenant_id = c.tenant_id
  join plans p on p.name = c.plan
  where c.hour between 0 and 253402300799 -- the years 1970 to 9999
  order by 1, 2, 3, 4
  on conflict (tenant_id, hour, key_id, plan) do update set
    admitted = least(u.admitted + excluded.admitted, most), refused = least(u.refused + excluded.refused, most),
    minute = greatest(u.minute, excluded.minute),
    in_minute = least(most, case when u.minute >= excluded.minute then u.in_minute else 0 end
      + case when excluded.minute >= u.minute then excluded.in_minute else 0 end),
    in_previous = least(most, case u.minute - excluded.minute
      when 0 then u.in_previous + excluded.in_previous
      when 1 then u.in_previous + excluded.in_minute
      when -1 then u.in_minute + excluded.in_previous
      else case when u.minute > excluded.minute then u.in_previous else excluded.in_previous end end);
  if 0 > any (admits) or 0 > any (in_minutes) or 0 > any (in_previouses) then
    update usage_hourly u set admitted = greatest(u.admitted + least(c.admitted, 0), 0),
      in_minute = greatest(u.in_minute + case u.minute when c.minute then least(c.in_minute, 0)
        when c.minute - 1 then least(c.in_previous, 0) else 0 end, 0),
      in_previous = greatest(u.in_previous + case u.minute when c.minute then least(c.in_previous, 0)
        when c.minute + 1 then least(c.in_minute, 0) else 0 end, 0)
    from (
      select n.tenant_id, n.hour, n.key_id, n.plan, n.admitted, n.in_minute, n.in_previous,
        case when n.minute between 0 and latest then n.minute end as minute
      from unnest(tenants, hours, key_ids, plan_names, admits, minutes, in_minutes, in_previouses)
        as n (tenant_id, hour, key_id, plan, admitted, minute, in_minute, in_previous)
    ) c
    where least(c.admitted, c.in_minute, c.in_previous) < 0 and c.hour between 0 and 253402300799 and u.tenant_id = c.tenant_id and u.hour = to_timestamp(c.hour) and u.key_id = c.key_id and u.plan = c.plan
      and u.hour > now() - interval '1 day';
  end if;

  with uses as (
    select k.id, least(timestamptz 'epoch' + c.micros * interval '1 microsecond', now() + interval '1 minute') as at
    from unnest(used_keys, used_micros) as c (id, micros)
    join api_keys k on k.id = c.id
    -- A key that is being changed now is skipped until the next minute, so that nothing waits.
    order by k.id for no key update of k skip locked
  )
  update api_keys k set last_used_at = uses.at
  from uses where k.id = uses.id and (k.last_used_at is null or k.last_used_at < uses.at);

  -- Now and then the numbers of servers that are long gone are removed. A batch is retried for a far shorter time.
  if number % 5000 = 0 then
    delete from usage_writers where server_id in (
      select w.server_id from usage_writers w
      where w.server_id <> server and w.written_at < now() - interval '7 days' for update skip locked
    );
  end if;
  return true;
end $$;

-- end_usage forgets a server that has recorded everything. The servers that are not forgotten, and do not act in the current term, have
-- ended silently.
create function end_usage(server text) returns void language plpgsql security definer as $$
begin
  delete from usage_writers where server_id = server;
end $$;

-- A function that runs with its owner's rights looks for tables where the owner put them.
do $$
declare
  f regprocedure;
begin
  for f in select oid from pg_proc where pronamespace = current_schema()::regnamespace and proname in ('add_usage', 'end_usage') loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

alter table limit_states
  add minute_unknown bigint not null default 0 check (minute_unknown between 0 and minute_used),
  add day_unknown    bigint not null default 0 check (day_unknown between 0 and day_used);

-- What limits count cannot be undone. Terms and windows only move forward, and not beyond the clock. Within a window what is known to be
-- used falls only as grants are returned, and so never below what it was when the term or the window began: the floors. What is unknown
-- may be given back when a term begins, because then it is read again what was recorded.
create or replace function check_limits() returns trigger language plpgsql as $$
declare
  refused boolean;
begin
  refused := new.term < old.term or new.accounted < old.accounted or new.minute < old.minute or new.day < old.day
    or new.term = old.term and new.redis <> old.redis
    or new.minute > old.minute and new.minute * 60 - 60 > extract(epoch from clock_timestamp())
    or new.day > old.day and new.day * 86400 - 60 > extract(epoch from clock_timestamp());
  if not refused and new.term > old.term then
    refused := new.term > (select number from cluster_term);
  end if;
  if refused then
    raise exception 'terms and windows of limits only move forward, to the current ones' using errcode = 'insufficient_privilege';
  end if;
  if new.term = old.term and (
       new.minute_unknown <> case when new.minute = old.minute then old.minute_unknown else 0 end
       or new.day_unknown <> case when new.day = old.day then old.day_unknown else 0 end) then
    raise exception 'what is unknown of a window changes with the term only' using errcode = 'insufficient_privilege';
  end if;
  new.minute_floor := case when new.minute > old.minute then 0
    when new.term > old.term then old.minute_used - old.minute_unknown else old.minute_floor end;
  new.day_floor := case when new.day > old.day then 0
    when new.term > old.term then old.day_used - old.day_unknown else old.day_floor end;
  if new.minute_used - new.minute_unknown < new.minute_floor or new.day_used - new.day_unknown < new.day_floor then
    raise exception 'what a window has used before the term began is not given back' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
drop trigger limit_states_check on limit_states;
create trigger limit_states_check before update on limit_states for each row
  when (new.term <> old.term or new.redis <> old.redis or new.accounted <> old.accounted or new.minute <> old.minute or new.day <> old.day
        or new.minute_used < old.minute_used or new.day_used < old.day_used
        or new.minute_unknown <> old.minute_unknown or new.day_unknown <> old.day_unknown
        or new.minute_floor <> old.minute_floor or new.day_floor <> old.day_floor)
  execute function check_limits();

grant execute on function add_usage, end_usage to petstore_api;
grant select (key_id, minute, in_minute, in_previous) on usage_hourly to petstore_api;
grant select (server_id, written_at) on usage_writers to petstore_api;
grant update (minute_unknown, day_unknown) on limit_states to petstore_api;
