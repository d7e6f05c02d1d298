drop view role_audit_entries;
drop function prune_undo_values;
drop table undo_values;
drop function check_undo_values;
drop trigger api_keys_revocation on api_keys;
drop function check_revocation;
alter table api_keys drop column revoked_by, drop column revocation_final_at;

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
  if new.kind = 'assign' and exists (select from price_list l where l.name = new.plan and l.retires_at <= new.valid_from) then
    raise exception 'plan % is retired: assign another plan', new.plan using errcode = 'check_violation', constraint = 'tenant_plans_retired';
  end if;
  return new;
end $$;
