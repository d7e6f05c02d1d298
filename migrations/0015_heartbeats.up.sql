-- Each server renews its own row, in one statement that locks nothing else. The term's row is locked only to change it, and to join.

alter table servers
  -- How long the server may act after this heartbeat, in milliseconds, and the number of the heartbeat.
  add lease    integer not null default 1000,
  add sequence bigint not null default 0;

alter table cluster_term
  -- Whether no term preceded this one, and the first term after the database was last set back, 0 if it never was.
  add first    boolean not null default false,
  add set_back bigint not null default 0,
  -- When the term may begin at the earliest, and by when all servers that were removed without a report had stopped.
  add not_before   timestamptz check (isfinite(not_before)),
  add folded_until timestamptz check (isfinite(folded_until)),
  -- database_name() when the term was made.
  add origin text not null default '';

-- database_name names the database as it is: it is another one after a promotion, and after a restore that made the tables anew.
-- A standby has no name.
create function database_name() returns text language sql volatile as $$
  select case when pg_is_in_recovery() then ''
    else left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '-' || 'servers'::regclass::oid end
$$;

-- cluster_state is the term and the servers, in the order of their ids. Instants are microseconds of Unix time.
create type cluster_state as (
  number bigint, active boolean, redis text, sole text, unclean_until timestamptz, servers integer, first boolean, set_back bigint,
  not_before timestamptz, folded_until timestamptz, origin text, database text, now timestamptz,
  ids text[], seen bigint[], reached text[], acked bigint[], leases bigint[]
);

create function read_cluster() returns cluster_state language sql volatile as $$
  select t.number, t.active, t.redis, t.sole, t.unclean_until, t.servers, t.first, t.set_back, t.not_before, t.folded_until, t.origin,
    database_name(), clock_timestamp(), s.ids, s.seen, s.reached, s.acked, s.leases
  from cluster_term t, (
    select coalesce(array_agg(o.id), '{}') as ids, coalesce(array_agg((extract(epoch from o.seen_at) * 1000000)::bigint), '{}') as seen,
      coalesce(array_agg(o.redis), '{}') as reached, coalesce(array_agg(o.acked), '{}') as acked,
      coalesce(array_agg(o.lease::bigint), '{}') as leases
    from (select * from servers order by id collate "C") o
  ) s
$$;

-- renew_server writes a server's heartbeat, and then reads the cluster. It returns the row as it was before, null for none, and whether
-- the heartbeat was written. It was not if the row is older than the server knows, or missing: the database was set back, or the server
-- was silent for long. A server that comes for the first time, with least_seen null, is added.
--
-- The cluster is read after the row is locked, with a snapshot of that moment. So a server that waited for its row, because another one
-- was changing the term without waiting for it, reads the new term.
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

-- lock_cluster locks the term, and the rows of all servers that have been silent for cluster.fenceTimeout, and reads the cluster. What it
-- returns is null if the term is locked already and it is not to wait. locked are the silent servers whose rows it could lock: the
-- others are renewing now.
create function lock_cluster(waits boolean, out cluster cluster_state, out locked text[]) language plpgsql as $$
begin
  if waits then
    perform 1 from cluster_term for update;
  else
    perform 1 from cluster_term for update skip locked;
    if not found then
      return;
    end if;
  end if;
  -- A server that is paused in the middle must not keep the others from changing the term.
  perform set_config('idle_in_transaction_session_timeout', '300', true);
  select coalesce(array_agg(s.id), '{}') into locked from (
    select id from servers
    where seen_at <= clock_timestamp() - (greatest(lease, 1000) * 1.4 + 600) * interval '1 ms'
    for update skip locked
  ) s;
  cluster := read_cluster();
end $$;

-- A term's number only grows. It comes from the clock, which may be wrong, but not beyond 2^30; the rest of 31 bits can only be counted up.
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

grant execute on function database_name, read_cluster to petstore_api, petstore_support, petstore_billing;
grant execute on function renew_server, lock_cluster to petstore_api;
grant update (lease, sequence) on servers to petstore_api;
grant update (first, set_back, not_before, folded_until, origin) on cluster_term to petstore_api;
