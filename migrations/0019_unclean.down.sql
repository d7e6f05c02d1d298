revoke select (server_id, written_at) on usage_writers from petstore_api;
revoke select (key_id) on usage_hourly from petstore_api;
drop trigger limit_states_check on limit_states;
alter table limit_states drop minute_unknown, drop day_unknown;
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
  new.minute_floor := case when new.minute > old.minute then 0 when new.term > old.term then old.minute_used else old.minute_floor end;
  new.day_floor := case when new.day > old.day then 0 when new.term > old.term then old.day_used else old.day_floor end;
  if new.minute_used < new.minute_floor or new.day_used < new.day_floor then
    raise exception 'what a window has used before the term began is not given back' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
create trigger limit_states_check before update on limit_states for each row
  when (new.term <> old.term or new.redis <> old.redis or new.accounted <> old.accounted or new.minute <> old.minute or new.day <> old.day
        or new.minute_used < old.minute_used or new.day_used < old.day_used
        or new.minute_floor <> old.minute_floor or new.day_floor <> old.day_floor)
  execute function check_limits();

drop function end_usage;
drop function add_usage;
alter table usage_hourly drop minute, drop in_minute, drop in_previous;
create function add_usage(
  server text, number bigint,
  tenants bigint[], hours bigint[], key_ids text[], plan_names text[], admits bigint[], refuses bigint[],
  used_keys text[], used_micros bigint[]
) returns boolean language plpgsql security definer as $$
declare
  most constant bigint := 1000000000000;
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
  insert into usage_hourly as u (tenant_id, hour, key_id, plan, admitted, refused)
  select c.tenant_id, to_timestamp(c.hour), c.key_id, c.plan, least(greatest(c.admitted, 0), most), least(c.refused, most)
  from unnest(tenants, hours, key_ids, plan_names, admits, refuses) as c (tenant_id, hour, key_id, plan, admitted, refused)
  join api_keys k on k.id = c.key_id and k.tenant_id = c.tenant_id
  join plans p on p.name = c.plan
  where c.hour between 0 and 253402300799 -- the years 1970 to 9999
  order by 1, 2, 3, 4
  on conflict (tenant_id, hour, key_id, plan) do update set
    admitted = least(u.admitted + excluded.admitted, most), refused = least(u.refused + excluded.refused, most);
  if 0 > any (admits) then
    update usage_hourly u set admitted = greatest(u.admitted + c.admitted, 0)
    from unnest(tenants, hours, key_ids, plan_names, admits) as c (tenant_id, hour, key_id, plan, admitted)
    where c.admitted < 0 and c.hour between 0 and 253402300799 and u.tenant_id = c.tenant_id and u.hour = to_timestamp(c.hour) and u.key_id = c.key_id and u.plan = c.plan
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

-- A function that runs with its owner's rights looks for tables where the owner put them.
do $$
declare
  f regprocedure;
begin
  for f in select oid from pg_proc where pronamespace = current_schema()::regnamespace and proname in ('add_usage') loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

grant execute on function add_usage to petstore_api;
