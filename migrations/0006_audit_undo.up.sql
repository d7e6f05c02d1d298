lock table tenants, price_list, plan_versions, tenant_plans in share row exclusive mode;
-- The number and the hash of the last entry. Without this row the removal of the last entries would go unnoticed.
create table audit_head (
  is_head boolean default true primary key check (is_head),
  number  bigint  not null,
  hash    bytea   not null check (length(hash) = 32)
);
insert into audit_head values (true, 0, decode(repeat('00', 32), 'hex'));

create table audit_entries (
  number        bigint      default '9223372036854775807'::bigint primary key check (number > 0),
  at            timestamptz not null,
  claimed_actor text        not null,
  action        text        not null,
  tenant_id     bigint      check (tenant_id > 0),
  subject       text        not null,
  before        jsonb       check (jsonb_typeof(before) = 'object'),
  after         jsonb       check (jsonb_typeof(after) = 'object'),
  reason        text        not null default '',
  login         text        not null,
  address       text        check (address <> ''),
  prev          bytea       not null check (length(prev) = 32),
  hash          bytea       not null check (length(hash) = 32)
) partition by range (number);
create index audit_entries_by_tenant on audit_entries (tenant_id, at, number);
create index audit_entries_by_subject on audit_entries (subject, number);
create index audit_entries_by_time on audit_entries (at, number);
create index audit_entries_by_login on audit_entries (login, at, number);
create index audit_entries_by_actor on audit_entries (claimed_actor, at, number);
create index audit_entries_by_action on audit_entries (action text_pattern_ops, at, number);

-- The audit trail has a partition for each year, so that old entries are removed by whole partitions, never one by one. The partitions are ranges of
-- numbers. The last one has no end and gets every new entry, because an entry has the largest possible number until the trigger sets it. In a new
-- year the last one is cut at the head, and another one follows.
create table audit_partitions (
  name  text   primary key,
  first bigint not null,
  -- null for the partition of new entries
  last  bigint,
  constraint audit_partitions_check check (last >= first)
);
insert into audit_partitions values ('audit_entries_1', 1, null);

-- The last removed entry. Its hash is in the first remaining one; 0 and zeros if none was removed. The entry audit.remove says the same.
create table audit_beginning (
  is_beginning boolean     default true primary key check (is_beginning),
  number       bigint      not null check (number >= 0),
  hash         bytea       not null check (length(hash) = 32),
  -- When the entry was written.
  written_at   timestamptz check (isfinite(written_at)),
  removed_at   timestamptz check (isfinite(removed_at))
);

insert into audit_beginning (number, hash) values (0, decode(repeat('00', 32), 'hex'));

-- The redacted members before and after a change: an audit entry leaves them out because they may have to be erased, and an undo needs them. first_number is
-- the entry with which the change began: a change of many items has many entries. A row is removed with its tenant, and after 30 days.
create table undo_values (
  number       bigint      primary key,
  first_number bigint      not null,
  tenant_id    bigint      references tenants(id) on delete cascade,
  before       jsonb       check (jsonb_typeof(before) = 'object'),
  after        jsonb       check (jsonb_typeof(after) = 'object'),
  at           timestamptz not null default now(),
  constraint undo_values_check check (first_number > 0 and first_number <= number)
);
create index undo_values_by_tenant on undo_values (tenant_id) where tenant_id is not null;
create index undo_values_by_time on undo_values (at);

-- Billing may read the entries about plans.
create view role_audit_entries with (security_barrier) as
select e.* from audit_entries e
where has_table_privilege('audit_entries'::regclass, 'select') or e.subject like 'plan:%'
      or e.action in ('plan.void', 'plan.unvoid', 'usage.resend', 'usage.unresend');

-- audit_canonical is the text whose SHA-256 is an entry's hash: its values as netstrings, LENGTH:VALUE, with the length in bytes of UTF-8.
-- It does not depend on the settings of the session. `petstorectl audit verify` does not call it.
create function audit_canonical(e audit_entries) returns text language sql stable as $$
  select string_agg(octet_length(convert_to(v, 'UTF8')) || ':' || v || ',', '' order by n)
  from unnest(array[
    'petstore-audit/1', e.number::text, encode(e.prev, 'hex'),
    to_char(e.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    e.login, coalesce(e.address, ''), e.claimed_actor, e.action, coalesce(e.tenant_id::text, ''), e.subject,
    coalesce(e.before::text, ''), coalesce(e.after::text, ''), e.reason
  ]) with ordinality as f (v, n)
$$;

-- audit_append completes a new entry. It runs with the rights of the tables' owner, so that a login that may insert an entry needs no right
-- on the head. The head stays locked until the transaction ends. So numbers have no gaps, entries become visible in order, and a
-- transaction writes its entries last. A client that freezes before it commits loses its session after 10 s. The size of an entry is
-- bounded, so that a program that verifies the trail can hold many of them.
create function audit_append() returns trigger language plpgsql security definer as $$
declare
  head audit_head;
  form bytea;
begin
  select * into strict head from audit_head for update;
  new.number := head.number + 1;
  new.at := clock_timestamp();
  new.login := session_user;
  new.address := host(inet_client_addr());
  new.prev := head.hash;
  form := convert_to(audit_canonical(new), 'UTF8');
  if length(form) > 16384 then
    raise exception 'an audit entry has at most 16384 bytes, this one has %', length(form) using errcode = 'program_limit_exceeded';
  end if;
  new.hash := sha256(form);
  update audit_head set number = new.number, hash = new.hash;
  if current_setting('idle_in_transaction_session_timeout') = '0' then
    perform set_config('idle_in_transaction_session_timeout', '10s', true);
  end if;
  return new;
end $$;
create trigger audit_append before insert on audit_entries for each row execute function audit_append();

create function audit_refuse() returns trigger language plpgsql as $$
begin
  raise exception 'the audit trail is append-only: % of % is refused', lower(tg_op), tg_table_name
    using errcode = 'object_not_in_prerequisite_state';
end $$;
create trigger audit_refuse before update or delete or truncate on audit_entries for each statement execute function audit_refuse();
create trigger audit_refuse_row before update or delete on audit_entries for each row execute function audit_refuse();
create trigger audit_head_refuse_row before delete on audit_head for each row execute function audit_refuse();
create trigger audit_head_refuse_all before delete or truncate on audit_head for each statement execute function audit_refuse();

-- Only audit_append may move the head.
create function audit_head_refuse() returns trigger language plpgsql as $$
begin
  if pg_trigger_depth() > 1 then
    return new;
  end if;
  raise exception 'the audit trail is append-only: % of % is refused', lower(tg_op), tg_table_name
    using errcode = 'object_not_in_prerequisite_state';
end $$;
create trigger audit_head_refuse before update on audit_head for each row execute function audit_head_refuse();

-- protect_audit_partition adds to a partition what it does not inherit.
create function protect_audit_partition(place text, name text) returns void language plpgsql as $$
begin
  execute format('create trigger audit_refuse before update or delete or truncate on %s.%I for each statement execute function audit_refuse()', place, name);
  execute format('alter table %s.%I enable always trigger audit_refuse', place, name);
  execute format('alter table %s.%I enable always trigger audit_refuse_row', place, name);
end $$;

-- These also fire with session_replication_role = replica. audit_append does not, because a logical replica copies entries unchanged.
alter table audit_entries enable always trigger audit_refuse, enable always trigger audit_refuse_row;
alter table audit_head enable always trigger audit_head_refuse, enable always trigger audit_head_refuse_row,
  enable always trigger audit_head_refuse_all;

create table audit_entries_1 partition of audit_entries for values from (minvalue) to (maxvalue);
select protect_audit_partition(quote_ident(current_schema()), 'audit_entries_1');

-- cut_audit_trail begins a partition if the first entry of the last one is of an earlier year. It waits for others only a moment. Others
-- wait for it once a year, while Postgres reads the ending partition: half a second for 1 million entries. A constraint validated
-- beforehand would not help: entries are written until the lock is taken, so the head is not known earlier.
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

-- remove_audit_entries removes the partitions whose last entry is past its retention, the oldest first, and returns the number of removed
-- entries. Only the owner of the tables can call it. The caller writes the entry audit.remove in the same transaction. It waits for others
-- only a moment, because all writers of entries wait behind it, and then fails with lock_not_available.
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
    update audit_beginning set number = last.number, hash = last.hash, written_at = last.at, removed_at = now();
  end loop;
  update retention set removed = removed + gone, run_at = now() where kind = 'audit';
  return gone;
end $$;

-- Each change has an audit entry. A program that writes it in the same transaction says so first: set_config('petstore.audited', 'on',
-- true). Otherwise a trigger writes it.
create function audit_by_trigger(action text, tenant bigint, subject text, before jsonb, after jsonb) returns void
language sql security definer as $$
  insert into audit_entries (claimed_actor, action, tenant_id, subject, before, after)
  select 'sql', action, tenant, subject, jsonb_strip_nulls(before), jsonb_strip_nulls(after)
  where current_setting('petstore.audited', true) is distinct from 'on'
$$;

create function audit_price_list() returns trigger language plpgsql security definer as $$
begin
  perform audit_by_trigger(case tg_op when 'INSERT' then 'plan.create' when 'UPDATE' then 'plan.edit' else 'plan.remove' end, null,
    'plan:' || case tg_op when 'DELETE' then old.name else new.name end,
    case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end $$;
create trigger price_list_audit after insert or update or delete on price_list for each row execute function audit_price_list();

create function audit_plan_version() returns trigger language plpgsql security definer as $$
begin
  perform audit_by_trigger(case tg_op when 'INSERT' then 'plan.edit' else 'plan.unschedule' end, null,
    'plan:' || case tg_op when 'DELETE' then old.plan else new.plan end,
    case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end $$;
create trigger plan_versions_audit after insert or update or delete on plan_versions for each row execute function audit_plan_version();

-- The end of an assignment may change without the assignment being void, for example if a temporary one is to last.
create function audit_tenant_plan() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'DELETE' and not exists (select from tenants t where t.id = old.tenant_id) then
    return null;
  end if;
  perform audit_by_trigger(
    case when tg_op = 'INSERT' then 'plan.assign' when tg_op = 'DELETE' or new.until is distinct from old.until then 'plan.unschedule' else 'plan.void' end,
    case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end,
    'tenant:' || case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end,
    case when tg_op <> 'INSERT' then to_jsonb(old) end, case when tg_op <> 'DELETE' then to_jsonb(new) end);
  return null;
end $$;
create trigger tenant_plans_audit after insert or update or delete on tenant_plans for each row execute function audit_tenant_plan();

-- count_bans counts the bans that were placed and lifted after an entry of the audit trail, for the metrics of servers, which may not read
-- the trail. number is the number of the last entry. Entries get their numbers in the order of their commits, so none is missed.
create function count_bans(since bigint) returns table (number bigint, by_server bigint, by_staff bigint, lifted bigint)
language sql stable security definer as $$
  select (select h.number from audit_head h),
         count(*) filter (where e.action = 'ban.place' and e.after->>'source' = 'automatic'),
         count(*) filter (where e.action = 'ban.place' and e.after->>'source' = 'staff'),
         count(*) filter (where e.action = 'ban.lift')
  from audit_entries e where e.number > since
$$;

-- Values are added only once, in the transaction of the entry.
create function check_undo_values() returns trigger language plpgsql security definer as $$
begin
  perform from audit_entries e where e.number = new.number and e.login = session_user and e.at > now() - interval '1 minute';
  if not found then
    raise exception 'undo values are written with their entry' using errcode = 'insufficient_privilege';
  end if;
  new.at := now();
  return new;
end $$;
create trigger undo_values_check before insert on undo_values for each row execute function check_undo_values();

create function prune_undo_values(until timestamptz, most integer) returns integer language plpgsql security definer as $$
declare
  removed integer;
begin
  delete from undo_values u where u.number in (
    select o.number from undo_values o where o.at < least(until, now() - interval '30 days') order by o.at limit most for update skip locked
  );
  get diagnostics removed = row_count;
  return removed;
end $$;

grant select on audit_head, audit_beginning, role_audit_entries to petstore_support;
grant select on audit_beginning, role_audit_entries to petstore_billing;
grant insert (claimed_actor, action, tenant_id, subject, before, after, reason), select (number) on audit_entries to petstore_billing;
grant insert (claimed_actor, action, tenant_id, subject, before, after, reason), select on audit_entries to petstore_support;
grant insert (number, first_number, tenant_id, before, after), select (number, first_number) on undo_values to petstore_billing;
grant insert (number, first_number, tenant_id, before, after), select on undo_values to petstore_support;
grant execute on function cut_audit_trail, count_bans, prune_undo_values to petstore_api;
