-- The audit trail has a partition for each year, so that old entries are removed by whole partitions, and never one by one. What was written
-- until now is the first. Nothing is copied: changes by staff wait for some milliseconds.
--
-- The partitions are ranges of numbers. The last one is without an end and gets every new entry: before the trigger sets the number, it is the
-- largest that there is. In a new year the last one is cut at the head, and another one follows.

create table audit_partitions (
  name  text primary key,
  first bigint not null,
  -- null: the partition gets the new entries
  last  bigint check (last >= first)
);
insert into audit_partitions values ('audit_entries_1', 1, null);

-- The last entry that was removed, whose hash the first that is there holds; 0 and zeros if none was. The entry audit.remove says the same.
create table audit_beginning (
  is_beginning boolean primary key default true check (is_beginning),
  number       bigint not null check (number >= 0),
  hash         bytea not null check (length(hash) = 32),
  removed_at   timestamptz check (isfinite(removed_at))
);
insert into audit_beginning (number, hash) values (0, decode(repeat('00', 32), 'hex'));

drop trigger audit_append on audit_entries;
drop trigger audit_refuse on audit_entries;
drop trigger audit_refuse_row on audit_entries;
drop function audit_canonical;
alter table audit_entries rename to audit_entries_1;
do $$
declare
  i name;
begin
  for i in select c.relname from pg_index x join pg_class c on c.oid = x.indexrelid where x.indrelid = 'audit_entries_1'::regclass loop
    execute format('alter index %I rename to %I', i, replace(i, 'audit_entries', 'audit_entries_1'));
  end loop;
end $$;
create table audit_entries (like audit_entries_1 including defaults including constraints) partition by range (number);
alter table audit_entries alter number set default 9223372036854775807;
alter table audit_entries attach partition audit_entries_1 for values from (minvalue) to (maxvalue);
alter table audit_entries add primary key (number);
create index audit_entries_by_subject on audit_entries (subject, number);
create index audit_entries_by_tenant on audit_entries (tenant_id, at, number);
create index audit_entries_by_time on audit_entries (at, number);
create index audit_entries_by_login on audit_entries (login, at, number);
create index audit_entries_by_actor on audit_entries (claimed_actor, at, number);
create index audit_entries_by_action on audit_entries (action text_pattern_ops, at, number);

-- audit_canonical is the text whose SHA-256 is an entry's hash: its values as netstrings, LENGTH:VALUE, with the length in bytes
-- of UTF-8. It does not depend on the settings of the session. `petstorectl audit verify` does not call it.
create function audit_canonical(e audit_entries) returns text language sql stable as $$
  select string_agg(octet_length(convert_to(v, 'UTF8')) || ':' || v || ',', '' order by n)
  from unnest(array[
    'petstore-audit/1', e.number::text, encode(e.prev, 'hex'),
    to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    e.login, coalesce(e.address, ''), e.claimed_actor, e.action, coalesce(e.tenant_id::text, ''), e.subject,
    coalesce(e.before::text, ''), coalesce(e.after::text, ''), e.reason
  ]) with ordinality as f (v, n)
$$;

create trigger audit_append before insert on audit_entries for each row execute function audit_append();
create trigger audit_refuse before update or delete or truncate on audit_entries
  for each statement execute function audit_refuse();
create trigger audit_refuse_row before update or delete on audit_entries for each row execute function audit_refuse();
alter table audit_entries enable always trigger audit_refuse;
alter table audit_entries enable always trigger audit_refuse_row;

-- protect_audit_partition gives a partition what it does not inherit.
create function protect_audit_partition(place text, name text) returns void language plpgsql as $$
begin
  execute format('create trigger audit_refuse before update or delete or truncate on %s.%I for each statement execute function audit_refuse()', place, name);
  execute format('alter table %s.%I enable always trigger audit_refuse', place, name);
  execute format('alter table %s.%I enable always trigger audit_refuse_row', place, name);
end $$;

-- Views name the table that they were made of, by whatever name it has.
create or replace view role_audit_entries with (security_barrier) as
select e.* from audit_entries e
where has_table_privilege('audit_entries'::regclass, 'select') or e.subject like 'plan:%' or e.action in ('plan.void', 'plan.unvoid');
create or replace view usage_closings as
select number, at, login, after, hash from audit_entries where action = 'usage.close';

-- cut_audit_trail begins a partition if the first entry of the last one is of an earlier year. It waits for others for a moment only.
-- Others wait for it while Postgres reads the partition that ends, once a year: 1 million entries take half a second. A constraint that is
-- validated before would not help: entries are written until the lock is there, so the head is not known earlier.
create function cut_audit_trail() returns boolean language plpgsql security definer as $$
declare
  place constant text := (select c.relnamespace::regnamespace from pg_class c where c.oid = 'audit_entries'::regclass);
  p     audit_partitions;
  begun timestamptz;
  head  bigint;
  next  text;
begin
  select * into strict p from audit_partitions where last is null;
  select e.at into begun from audit_entries e where e.number >= p.first order by e.number limit 1;
  if begun is null or begun >= date_trunc('year', now(), 'UTC') then
    return false;
  end if;
  perform set_config('lock_timeout', '200ms', true);
  begin
    lock table audit_entries in access exclusive mode;
  exception when lock_not_available then
    return false;
  end;
  -- Another server may have cut it meanwhile.
  select * into strict p from audit_partitions where last is null;
  select h.number into strict head from audit_head h;
  if head < p.first then
    return false;
  end if;
  next := 'audit_entries_' || head + 1;
  execute format('alter table audit_entries detach partition %s.%I', place, p.name);
  execute format('alter table audit_entries attach partition %s.%I for values from (%s) to (%s)', place, p.name,
                 case p.first when 1 then 'minvalue' else p.first::text end, head + 1);
  execute format('alter table %s.%I enable always trigger audit_refuse_row', place, p.name);
  execute format('create table %s.%I (like audit_entries including defaults including constraints including indexes)', place, next);
  execute format('alter table audit_entries attach partition %s.%I for values from (%s) to (maxvalue)', place, next, head + 1);
  perform protect_audit_partition(place, next);
  update audit_partitions set last = head where name = p.name;
  insert into audit_partitions values (next, head + 1, null);
  return true;
end $$;

-- remove_audit_entries removes the partitions whose last entry is older than entries are kept, the oldest first, and returns how many
-- entries those were. Only the owner of the tables can. Whoever calls it writes the entry audit.remove in the same transaction. It waits for
-- others for a moment only, since all who write entries wait behind it, and otherwise fails with lock_not_available.
create function remove_audit_entries() returns bigint language plpgsql as $$
declare
  before constant timestamptz := retention_before('audit');
  p    audit_partitions;
  last audit_entries;
  gone bigint := 0;
begin
  for p in select * from audit_partitions o where o.last is not null order by o.first loop
    select * into last from audit_entries e where e.number = p.last;
    exit when last.at is null or last.at >= before;
    if gone = 0 then
      perform set_config('lock_timeout', '200ms', true);
      lock table audit_entries in access exclusive mode;
    end if;
    gone := gone + p.last - (select b.number from audit_beginning b);
    execute format('drop table %I', p.name);
    delete from audit_partitions o where o.name = p.name;
    update audit_beginning set number = last.number, hash = last.hash, removed_at = now();
  end loop;
  update retention set removed = removed + gone, run_at = now() where kind = 'audit';
  return gone;
end $$;

do $$
declare
  place constant name := current_schema();
begin
  execute format('alter function audit_canonical set search_path = %I, pg_temp', place);
  execute format('alter function cut_audit_trail set search_path = pg_catalog, %I, pg_temp', place);
  perform protect_audit_partition(quote_ident(place), 'audit_entries_1');
end $$;

insert into retention (kind, keep, least) values ('audit', '2557 days', '366 days');

-- The rights are those on the table before.
grant select on audit_entries to petstore_support;
grant insert (claimed_actor, action, tenant_id, subject, before, after, reason) on audit_entries to petstore_support, petstore_billing;
grant select (number) on audit_entries to petstore_billing;
do $$
begin
  execute 'revoke all on audit_entries_1 from petstore_support, petstore_billing';
end $$;
grant select on audit_beginning to petstore_support;
grant execute on function cut_audit_trail to petstore_api;
