-- What it takes to take changes back.

-- What an audit entry leaves out because it may have to be erased, and what an undo needs: the redacted members as they were before and after
-- the change. first_number is the entry with which the change began: a change of many items has many entries. undoes is the entry that this
-- one took back. A row goes with its tenant, and after 30 days.
create table undo_values (
  number       bigint primary key,
  first_number bigint not null check (first_number > 0 and first_number <= number),
  undoes       bigint check (undoes > 0 and undoes < number),
  tenant_id    bigint references tenants (id) on delete cascade,
  before       jsonb check (jsonb_typeof(before) = 'object'),
  after        jsonb check (jsonb_typeof(after) = 'object'),
  at           timestamptz not null default now()
);
create index undo_values_by_tenant on undo_values (tenant_id) where tenant_id is not null;
create index undo_values_by_time on undo_values (at);

-- Values are added once, in the transaction of the entry.
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

-- The entries that a role may read: all that may read the audit trail, or those about the price list and about void assignments.
create view role_audit_entries with (security_barrier) as
select e.* from audit_entries e
where has_table_privilege('audit_entries'::regclass, 'select') or e.subject like 'plan:%' or e.action in ('plan.void', 'plan.unvoid');

-- A plan that is retired is assigned to nobody new: a tenant that was on it in the last 30 days may come back.
create or replace function check_tenant_plan() returns trigger language plpgsql as $$
declare
  now_latest plan_versions;
begin
  if tg_op = 'UPDATE' then
    if (new.tenant_id, new.id, new.valid_from, new.plan, new.per_minute, new.per_day, new.generation, new.kind, new.ends, new.created_at, new.created_by)
       is distinct from
       (old.tenant_id, old.id, old.valid_from, old.plan, old.per_minute, old.per_day, old.generation, old.kind, old.ends, old.created_at, old.created_by) then
      raise exception 'an assignment is never changed: assign another plan' using errcode = 'check_violation', constraint = 'tenant_plans_begun';
    end if;
    return new;
  end if;
  if tg_op = 'DELETE' then
    -- The 2 seconds: no server counts under an assignment that is gone. A tenant that is erased takes its assignments with it.
    if old.valid_from <= past_until() + interval '2 seconds' and exists (select from tenants t where t.id = old.tenant_id) then
      raise exception 'assignment % begins at % and can no longer be removed: assign another plan', old.id, old.valid_from
        using errcode = 'check_violation', constraint = 'tenant_plans_begun';
    end if;
    return old;
  end if;

  new.created_at := now();
  new.created_by := session_user;
  if new.valid_from < past_until() then
    raise exception 'an assignment does not begin in the past' using errcode = 'check_violation', constraint = 'tenant_plans_past';
  end if;
  select * into now_latest from plan_versions v
  where v.plan = new.plan and v.valid_from <= new.valid_from and v.generation = coalesce(new.generation, v.generation)
  order by v.valid_from desc limit 1;
  if now_latest.plan is null then
    raise exception 'plan % has no numbers at %', new.plan, new.valid_from using errcode = 'check_violation', constraint = 'tenant_plans_generation';
  end if;
  if now_latest.per_minute is null and new.per_minute is null or now_latest.per_minute is not null and new.per_minute is not null and new.kind = 'assign' then
    raise exception 'an assignment has numbers of its own if its plan % has none', new.plan
      using errcode = 'check_violation', constraint = 'tenant_plans_numbers';
  end if;
  if new.kind = 'assign' and exists (select from price_list l where l.name = new.plan and l.retires_at <= new.valid_from)
     and not exists (
       select from tenant_plans a
       where a.tenant_id = new.tenant_id and a.plan = new.plan and a.valid_from < new.valid_from and not exists (
         select from tenant_plans n
         where n.tenant_id = a.tenant_id and n.valid_from > a.valid_from and n.valid_from < new.valid_from - interval '30 days')
     ) then
    raise exception 'plan % is retired: assign another plan', new.plan using errcode = 'check_violation', constraint = 'tenant_plans_retired';
  end if;
  return new;
end $$;

do $$
declare
  f text;
begin
  foreach f in array array['check_undo_values', 'prune_undo_values'] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;

grant select on undo_values to petstore_support;
grant select (number, first_number, undoes) on undo_values to petstore_billing;
grant insert (number, first_number, undoes, tenant_id, before, after) on undo_values to petstore_support, petstore_billing;
grant select on role_audit_entries to petstore_support, petstore_billing;
grant execute on function prune_undo_values to petstore_api;

-- A revoked key can be brought back for 15 minutes, by the login that revoked it or by the owner of the table. A trigger says who revoked it
-- and until when. Both are null for a key that is not revoked, and for one that was revoked before this migration: that one stays so.
-- This comes last: whoever reads keys waits from here to the end of the migration.
alter table api_keys
  add revoked_by text,
  add revocation_final_at timestamptz check (isfinite(revocation_final_at));

create function check_revocation() returns trigger language plpgsql as $$
begin
  if old.revoked_at is null and new.revoked_at is not null then
    new.revoked_by := session_user;
    new.revocation_final_at := clock_timestamp() + interval '15 minutes';
    return new;
  end if;
  new.revoked_by := old.revoked_by;
  new.revocation_final_at := old.revocation_final_at;
  if old.revoked_at is not distinct from new.revoked_at then
    return new;
  elsif new.revoked_at is not null then
    raise exception 'key % was revoked at %: that stays so', old.id, old.revoked_at
      using errcode = 'check_violation', constraint = 'api_keys_revoked';
  elsif old.revocation_final_at is null or old.revocation_final_at <= clock_timestamp() then
    raise exception 'key % was revoked more than 15 minutes ago: issue another one', old.id
      using errcode = 'check_violation', constraint = 'api_keys_revocation_final';
  elsif old.revoked_by <> session_user
        and not pg_has_role(session_user, (select relowner from pg_class where oid = tg_relid), 'usage') then
    raise exception 'key % was revoked by %: only that login or the owner of the tables may bring it back', old.id, old.revoked_by
      using errcode = 'check_violation', constraint = 'api_keys_revoked_by';
  end if;
  new.revoked_by := null;
  new.revocation_final_at := null;
  return new;
end $$;
create trigger api_keys_revocation before update of revoked_at, revoked_by, revocation_final_at on api_keys
  for each row execute function check_revocation();
grant select (revoked_by, revocation_final_at) on api_keys to petstore_support;
