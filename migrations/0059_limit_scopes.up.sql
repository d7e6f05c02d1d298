-- A row of limit_states is of a tenant or of one of its keys. Others are left out, as are those of tenants that are not there: a server may
-- ask for a key that was just removed.
create function leave_out_unknown_scope() returns trigger language plpgsql security definer as $$
begin
  if exists (select from api_keys k where k.id = new.scope and k.tenant_id = new.tenant_id) then
    return new;
  end if;
  return null;
end $$;
do $$
begin
  execute format('alter function leave_out_unknown_scope set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;
revoke all on function leave_out_unknown_scope from public;
create trigger limit_states_scope before insert on limit_states for each row when (new.scope <> '') execute function leave_out_unknown_scope();
