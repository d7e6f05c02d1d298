-- What a term no longer knows goes: no program of the release before reads it. Rows of limits come first, as in the servers' transactions.
drop trigger limit_states_check on limit_states;
alter table limit_states drop column redis, drop column accounted, drop column minute_floor, drop column day_floor,
  drop column minute_unknown, drop column day_unknown;
-- Most updates only add within a term and its windows.
create trigger limit_states_check before update on limit_states for each row
  when (new.term <> old.term or new.minute <> old.minute or new.day <> old.day) execute function check_limits();

alter table cluster_term drop column folded_until;
-- A term's number only grows. It comes from the clock, which may be wrong, but not beyond 2^30; the rest of 31 bits can only be counted up.
create or replace function check_term() returns trigger language plpgsql as $$
begin
  if new.number < old.number or new.number > old.number and new.number - 1 > greatest(old.number, (1 << 30) + (1 << 20))
     or new.set_back < old.set_back or new.set_back > new.number
     or old.unclean_until is not null and new.unclean_until is null or new.unclean_until < old.unclean_until
     or new.unclean_until is distinct from old.unclean_until and new.unclean_until > clock_timestamp() + interval '1 minute'
     or new.not_before is distinct from old.not_before and new.not_before > clock_timestamp() + interval '1 minute' then
    raise exception 'terms follow each other, and the time of an unclean end only grows' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;

alter type cluster_state drop attribute folded_until;
create or replace function read_cluster() returns cluster_state language sql volatile as $$
  select t.number, t.active, t.redis, t.sole, t.unclean_until, t.servers, t.first, t.set_back, t.not_before, t.origin,
    database_name(), clock_timestamp(), s.ids, s.seen, s.reached, s.acked, s.leases
  from cluster_term t, (
    select coalesce(array_agg(o.id), '{}') as ids, coalesce(array_agg((extract(epoch from o.seen_at) * 1000000)::bigint), '{}') as seen,
      coalesce(array_agg(o.redis), '{}') as reached, coalesce(array_agg(o.acked), '{}') as acked,
      coalesce(array_agg(o.lease::bigint), '{}') as leases
    from (select * from servers order by id collate "C") o
  ) s
$$;

drop function renew_server;
-- renew_server writes a server's heartbeat, and then reads the cluster. It returns the row as it was before, null for none, and whether
-- the heartbeat was written: not if it arrives after a later one. A server that is not there is added.
--
-- The cluster is read after the row is locked, with a snapshot of that moment. So a server that waited for its row, because another one
-- was changing the term without waiting for it, reads the new term.
create function renew_server(
  server text, reaches text, acknowledges bigint, takes integer, sequence_number bigint,
  out cluster cluster_state, out was servers, out renewed boolean
) language plpgsql as $$
declare
  at timestamptz;
begin
  renewed := false;
  select * into was from servers s where s.id = server for no key update;
  if found and was.sequence < sequence_number then
    at := clock_timestamp();
    update servers s set seen_at = at, redis = reaches, acked = acknowledges, lease = takes, sequence = sequence_number where s.id = server;
    renewed := true;
    -- cluster.RenewLate: this heartbeat may be lost in a crash.
    if takes <= was.lease and at - was.seen_at <= was.lease * 0.4 * interval '1 ms'
       and current_setting('wal_writer_delay')::interval <= interval '200 ms' then
      perform set_config('synchronous_commit', 'off', true);
    end if;
  elsif was.id is null then
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

drop table relayed_calls;
