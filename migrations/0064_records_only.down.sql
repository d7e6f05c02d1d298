create unlogged table relayed_calls (
  caller  text not null,
  number  bigint not null,
  server  text not null,
  call    bytea not null,
  result  bytea,
  made_at timestamptz not null default clock_timestamp(),
  primary key (caller, number)
);
grant select, insert (caller, number, server, call), update (server, result), delete on relayed_calls to petstore_api;

drop trigger limit_states_check on limit_states;
alter table limit_states
  add redis          boolean not null default false,
  add accounted      bigint not null default 0,
  add minute_floor   bigint not null default 0,
  add day_floor      bigint not null default 0,
  add minute_unknown bigint not null default 0,
  add day_unknown    bigint not null default 0;
grant update (redis, accounted, minute_unknown, day_unknown) on limit_states to petstore_api;
create trigger limit_states_check before update on limit_states for each row
  when (new.term <> old.term or new.redis <> old.redis or new.accounted <> old.accounted or new.minute <> old.minute or new.day <> old.day
        or new.minute_used < old.minute_used or new.day_used < old.day_used
        or new.minute_unknown <> old.minute_unknown or new.day_unknown <> old.day_unknown
        or new.minute_floor <> old.minute_floor or new.day_floor <> old.day_floor)
  execute function check_limits();

alter table cluster_term add folded_until timestamptz check (isfinite(folded_until));
grant update (folded_until) on cluster_term to petstore_api;
-- As in 0015.
create or replace function check_term() returns trigger language plpgsql as $$
begin
  if new.number < old.number or new.number > old.number and new.number - 1 > greatest(old.number, (1 << 30) + (1 << 20))
     or new.set_back < old.set_back or new.set_back > new.number
     or old.unclean_until is not null and new.unclean_until is null or new.unclean_until < old.unclean_until
     or old.folded_until is not null and new.folded_until is null or new.folded_until < old.folded_until
     or new.unclean_until is distinct from old.unclean_until and new.unclean_until > clock_timestamp() + interval '1 minute'
     or new.folded_until is distinct from old.folded_until and new.folded_until > clock_timestamp() + interval '1 minute'
     or new.not_before is distinct from old.not_before and new.not_before > clock_timestamp() + interval '1 minute' then
    raise exception 'terms follow each other, and the time of an unclean end only grows' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;

alter type cluster_state add attribute folded_until timestamptz;
create or replace function read_cluster() returns cluster_state language sql volatile as $$
  select t.number, t.active, t.redis, t.sole, t.unclean_until, t.servers, t.first, t.set_back, t.not_before, t.origin,
    database_name(), clock_timestamp(), s.ids, s.seen, s.reached, s.acked, s.leases, t.folded_until
  from cluster_term t, (
    select coalesce(array_agg(o.id), '{}') as ids, coalesce(array_agg((extract(epoch from o.seen_at) * 1000000)::bigint), '{}') as seen,
      coalesce(array_agg(o.redis), '{}') as reached, coalesce(array_agg(o.acked), '{}') as acked,
      coalesce(array_agg(o.lease::bigint), '{}') as leases
    from (select * from servers order by id collate "C") o
  ) s
$$;

-- As in 0015.
drop function renew_server;
create function renew_server(
  server text, reaches text, acknowledges bigint, takes integer, sequence_number bigint, least_seen timestamptz,
  out cluster cluster_state, out was servers, out renewed boolean
) language plpgsql as $$
declare
  at timestamptz;
begin
  renewed := false;
  select * into was from servers s where s.id = server for no key update;
  if found and was.seen_at >= coalesce(least_seen, '-infinity') and was.sequence < sequence_number then
    at := clock_timestamp();
    update servers s set seen_at = at, redis = reaches, acked = acknowledges, lease = takes, sequence = sequence_number where s.id = server;
    renewed := true;
    -- cluster.RenewLate: this heartbeat may be lost in a crash.
    if takes <= was.lease and at - was.seen_at <= was.lease * 0.4 * interval '1 ms'
       and current_setting('wal_writer_delay')::interval <= interval '200 ms' then
      perform set_config('synchronous_commit', 'off', true);
    end if;
  elsif was.id is null and least_seen is null then
    -- Whoever changes the term holds this lock alone, from before it reads the servers until its commit. So it knows of this server, or
    -- this server reads the changed term.
    perform 1 from cluster_term for share;
    insert into servers (id, seen_at, redis, acked, lease, sequence)
    values (server, clock_timestamp(), reaches, acknowledges, takes, sequence_number) on conflict do nothing;
    renewed := found;
  end if;
  cluster := read_cluster();
end $$;
revoke all on function renew_server from public;
grant execute on function renew_server to petstore_api;
