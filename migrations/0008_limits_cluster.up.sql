lock table tenants in share row exclusive mode;
-- The live servers, each with the Redis that it reaches and the term that it has acknowledged (internal/limits/README.md).
create table servers (
  id          text        primary key,
  seen_at     timestamptz not null constraint servers_seen_at_finite check (isfinite(seen_at)),
  redis       text        not null default '',
  acked       bigint      not null default 0,
  -- How long the server may act after this heartbeat, in milliseconds, and the heartbeat's number.
  lease       integer     not null default 1000,
  sequence    bigint      not null default 0,
  -- How far the server's own clock is ahead of this database's, in milliseconds, negative if it is behind; 0 up to a difference of a second.
  clock_ahead bigint      not null default 0 check (abs(clock_ahead) <= '9000000000000'::bigint),
  -- The faults that a server finds in itself, by the names of its checks, for petstorectl doctor.
  reports     text[]      not null default '{}'::text[] check (cardinality(reports) <= 32)
) with (fillfactor=50);

create table cluster_term (
  one           boolean     default true,
  number        bigint      not null default 0,
  active        boolean     not null default false,
  redis         text        not null default '',
  sole          text        not null default '',
  unclean_until timestamptz constraint cluster_term_unclean_until_finite check (isfinite(unclean_until)),
  servers       integer     not null default 0,
  -- Whether this term is the first ever, and the first term after the database was last set back, 0 if it never was.
  first         boolean     not null default false,
  set_back      bigint      not null default 0,
  -- The earliest time at which the term may begin.
  not_before    timestamptz check (isfinite(not_before)),
  -- database_name() when the term was made.
  origin        text        not null default '',
  constraint fleet_pkey primary key (one),
  constraint fleet_one_check check (one)
) with (fillfactor=50);
insert into cluster_term default values;

-- cluster_state is the term and the servers, in the order of their ids. Instants are microseconds of Unix time.
create type cluster_state as (
  number bigint, active boolean, redis text, sole text, unclean_until timestamptz, servers integer, first boolean, set_back bigint,
  not_before timestamptz, origin text, database text, now timestamptz,
  ids text[], seen bigint[], reached text[], acked bigint[], leases bigint[]
);

-- One row for each tenant, with scope '', and one for each key with a limit of its own. Rows have only the windows' numbers, no times: the
-- servers decide which window an instant belongs to.
create table limit_states (
  tenant_id   bigint not null references tenants(id),
  scope       text   not null,
  -- The latest term in which the row was used.
  term        bigint not null default 0,
  minute      bigint not null default 0,
  minute_used bigint not null default 0,
  day         bigint not null default 0,
  day_used    bigint not null default 0,
  constraint limit_states_pkey primary key (tenant_id, scope)
) with (fillfactor=70);

-- database_name names the database. The name changes with a promotion, and with a restore that makes the tables again. A standby has no
-- name.
create function database_name() returns text language sql volatile as $$
  select case when pg_is_in_recovery() then ''
    else left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '-' || 'servers'::regclass::oid end
$$;

create function read_cluster() returns cluster_state language sql volatile as $$
  select t.number, t.active, t.redis, t.sole, t.unclean_until, t.servers, t.first, t.set_back, t.not_before, t.origin,
    database_name(), clock_timestamp(), s.ids, s.seen, s.reached, s.acked, s.leases
  from cluster_term t, (
    select coalesce(array_agg(o.id), '{}') as ids, coalesce(array_agg((extract(epoch from o.seen_at) * 1000000)::bigint), '{}') as seen,
      coalesce(array_agg(o.redis), '{}') as reached, coalesce(array_agg(o.acked), '{}') as acked,
      coalesce(array_agg(o.lease::bigint), '{}') as leases
    from (select * from servers order by id collate "C") o
  ) s
$$;

-- renew_server writes a server's heartbeat, and then reads the cluster. It adds a missing server. It returns the row as it was before, null
-- for none, and whether the heartbeat was written: not if a later one arrived before.
--
-- The cluster is read after the row is locked, with a new snapshot. So a server that waited for its row, because another one was changing
-- the term without it, reads the new term.
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

-- lock_cluster locks the term and the rows of all servers that have been silent for cluster.fenceTimeout, and reads the cluster. The result
-- is null if the term is locked already and waits is false. locked are the silent servers whose rows it could lock; the others are renewing
-- now.
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

-- end_usage removes a server that has recorded everything. Servers that remain and do not act in the current term have ended silently.
create function end_usage(server text) returns void language plpgsql security definer as $$
begin
  delete from usage_writers where server_id = server;
end $$;

-- forget_server records that a server has ended and delivers no more. Nothing waits for its unrecorded usage, unless it writes again. It returns the
-- server's row, or nulls for an unknown server.
create function forget_server(server text) returns usage_writers language plpgsql security definer as $$
declare
  forgotten usage_writers;
begin
  if exists (select from servers s where s.id = server and s.seen_at > clock_timestamp() - interval '1 minute') then
    raise exception 'server % is alive', server using errcode = 'check_violation', constraint = 'usage_writers_alive';
  end if;
  update usage_writers set left_out_at = now() where server_id = server and (left_out_at is null or written_at > left_out_at);
  select * into forgotten from usage_writers where server_id = server;
  return forgotten;
end $$;

-- A term's number only grows. It is taken from the clock up to 2^30, because the clock may be wrong. The rest of the 31 bits can only be
-- counted up.
create function check_term() returns trigger language plpgsql as $$
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
create trigger cluster_term_check before update on cluster_term for each row execute function check_term();

-- A term begins at what is recorded. That may be less than the row's numbers, because grants were not returned or replies were lost.
create function check_limits() returns trigger language plpgsql as $$
begin
  if new.term < old.term or new.term > old.term and new.term > (select number from cluster_term) or new.term = old.term and (new.minute < old.minute or new.day < old.day)
     or greatest(new.minute * 60 * (new.minute > old.minute)::int, new.day * 86400 * (new.day > old.day)::int) - 60 > extract(epoch from clock_timestamp()) then
    raise exception 'terms and windows of limits only move forward, to the current ones' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
-- Most updates only add within a term and its windows.
create trigger limit_states_check before update on limit_states for each row
  when (new.term <> old.term or new.minute <> old.minute or new.day <> old.day) execute function check_limits();

-- prune_key_limits removes up to the given number of rows of keys whose minute is before the given one, and is over for every tenant. It returns the number.
-- Tenants' rows stay.
create function prune_key_limits(before bigint, most integer) returns integer language plpgsql security definer as $$
declare
  removed integer;
begin
  delete from limit_states where (tenant_id, scope) in (
    select l.tenant_id, l.scope from limit_states l
    -- The number of the current minute differs between tenants by at most one.
    where l.scope <> '' and l.minute < least(before, floor(extract(epoch from now()) / 60)::bigint - 1)
    order by l.tenant_id, l.scope limit most for update skip locked
  );
  get diagnostics removed = row_count;
  return removed;
end $$;

-- A row of limit_states belongs to a tenant or one of its keys. Rows of missing tenants or keys are left out: a server may ask for a key
-- that was just removed.
create function leave_out_unknown_scope() returns trigger language plpgsql security definer as $$
begin
  if exists (select from api_keys k where k.id = new.scope and k.tenant_id = new.tenant_id) then
    return new;
  end if;
  return null;
end $$;
create trigger limit_states_scope before insert on limit_states for each row when (new.scope <> '') execute function leave_out_unknown_scope();

grant delete, insert, select, update (seen_at, redis, acked, lease, sequence, clock_ahead, reports) on servers to petstore_api;
grant select on servers, cluster_term to petstore_billing, petstore_support;
grant select, update (number, active, redis, sole, unclean_until, servers, first, set_back, not_before, origin) on cluster_term to petstore_api;
grant insert (tenant_id, scope), select, update (term, minute, minute_used, day, day_used) on limit_states to petstore_api;
grant execute on function database_name, read_cluster to petstore_api, petstore_billing, petstore_support;
grant execute on function renew_server, lock_cluster, end_usage, prune_key_limits to petstore_api;
grant execute on function forget_server to petstore_billing;

-- A function with its owner's rights looks for tables where the owner put them. pg_temp is last: otherwise a caller's temporary table could
-- replace a table.
do $$
declare
  f regprocedure;
begin
  for f in select oid from pg_proc where pronamespace = current_schema()::regnamespace and prosecdef loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
  foreach f in array array['audit_canonical'::regproc, 'audit_refuse'::regproc, 'audit_head_refuse'::regproc] loop
    execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
  end loop;
end $$;
