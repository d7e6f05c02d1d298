-- The audit trail becomes append-only and a chain: each entry holds the SHA-256 of the one before it and its own, over the
-- canonical form of docs/audit.md. An inserter gives claimed_actor, action, tenant_id, subject, before, after and reason;
-- a trigger sets everything else, whatever the inserter gave.

-- A tenant can be erased without a change of the trail, so entries name it by number and nothing refers to its row.
alter table audit_entries drop constraint audit_entries_tenant_id_fkey;
alter table audit_entries alter column id drop identity;
alter table audit_entries rename column id to number;
alter table audit_entries rename column actor to claimed_actor;
alter table audit_entries
  -- Empty for entries that were written before this migration.
  add column login   text not null default '',
  add column address text check (address <> ''),
  add column prev    bytea,
  add column hash    bytea,
  -- The canonical form has the same text for 0 and for none.
  add check (tenant_id > 0),
  add check (jsonb_typeof(before) = 'object'),
  add check (jsonb_typeof(after) = 'object');
alter table audit_entries alter column login drop default;

-- Entries hold no names of tenants and keys, and no reason that a customer was shown: only that it was set or changed.
update audit_entries a set
  subject = case when action like 'tenant.%' or action like 'plan.%' then 'tenant:' || tenant_id else subject end,
  before = before - field,
  after = (after - field) || case
    when after ->> field is distinct from before ->> field then jsonb_build_object('redacted', jsonb_build_array(field))
    else '{}'
  end
from (select number, case when action like 'ban.%' then 'reason' else 'name' end as field from audit_entries) f
where f.number = a.number;

-- The number and the hash of the last entry. Without this row nobody would see that the last entries were removed.
create table audit_head (
  is_head boolean primary key default true check (is_head),
  number  bigint not null,
  hash    bytea not null check (length(hash) = 32)
);

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

do $$
declare
  e    audit_entries;
  head audit_head := (true, 0, decode(repeat('00', 32), 'hex'));
begin
  -- The new numbers are not greater than the old ones, so none is taken when its turn comes.
  for e in select * from audit_entries order by number loop
    update audit_entries set number = head.number + 1, prev = head.hash where number = e.number returning * into e;
    head := (true, e.number, sha256(convert_to(audit_canonical(e), 'UTF8')));
    update audit_entries set hash = head.hash where number = head.number;
  end loop;
  insert into audit_head values (head.*);
end $$;

alter table audit_entries
  alter column prev set not null,
  alter column hash set not null,
  add check (number > 0),
  add check (length(prev) = 32),
  add check (length(hash) = 32);

-- audit_append completes a new entry. It runs with the rights of the tables' owner, so that whoever may insert an entry needs no
-- right on the head. The head stays locked until the transaction ends: numbers have no gaps, and entries become visible in
-- their order. So a transaction writes its entries last. A client that freezes before it commits loses its session after 10 s.
-- An entry has a largest size, so that whoever verifies the trail can hold many of them.
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

create function audit_refuse() returns trigger language plpgsql as $$
begin
  raise exception 'the audit trail is append-only: % of % is refused', lower(tg_op), tg_table_name
    using errcode = 'object_not_in_prerequisite_state';
end $$;

-- Only audit_append may move the head.
create function audit_head_refuse() returns trigger language plpgsql as $$
begin
  if pg_trigger_depth() > 1 then
    return new;
  end if;
  raise exception 'the audit trail is append-only: % of % is refused', lower(tg_op), tg_table_name
    using errcode = 'object_not_in_prerequisite_state';
end $$;

-- pg_temp is named last: otherwise a temporary table of the caller would take the place of a table.
do $$
declare
  f text;
begin
  foreach f in array array['audit_canonical(audit_entries)', 'audit_append()', 'audit_refuse()', 'audit_head_refuse()'] loop
    execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;

create trigger audit_append before insert on audit_entries for each row execute function audit_append();
create trigger audit_refuse before update or delete or truncate on audit_entries
  for each statement execute function audit_refuse();
-- A statement on a parent table fires no statement trigger of its children, so rows have a trigger too.
create trigger audit_refuse_row before update or delete on audit_entries for each row execute function audit_refuse();
create trigger audit_head_refuse before update on audit_head for each row execute function audit_head_refuse();
create trigger audit_head_refuse_row before delete on audit_head for each row execute function audit_refuse();
create trigger audit_head_refuse_all before delete or truncate on audit_head for each statement execute function audit_refuse();

-- These fire in a session of session_replication_role = replica too. audit_append does not: a logical replica copies entries as
-- they are.
alter table audit_entries enable always trigger audit_refuse;
alter table audit_entries enable always trigger audit_refuse_row;
alter table audit_head enable always trigger audit_head_refuse;
alter table audit_head enable always trigger audit_head_refuse_row;
alter table audit_head enable always trigger audit_head_refuse_all;
