-- The roles belong to the cluster and stay: other databases may use them.
do $$
declare
  s name := current_schema();
begin
  execute format('revoke all on all tables in schema %I from petstore_api, petstore_support, petstore_billing', s);
  execute format('revoke all on all functions in schema %I from petstore_api, petstore_support, petstore_billing', s);
  execute format('revoke all on schema %I from petstore_api, petstore_support, petstore_billing', s);
  execute format('revoke all on database %I from petstore_api, petstore_support, petstore_billing', current_database());
  execute format('grant usage on schema %I to public', s);
  execute format('grant connect, temporary on database %I to public', current_database());
end $$;

alter default privileges grant execute on functions to public;
alter default privileges grant usage on types to public;

do $$
declare
  c record;
begin
  for c in select conrelid::regclass as tab, conname from pg_constraint
    where connamespace = current_schema()::regnamespace and conname like '%\_finite'
  loop
    execute format('alter table %s drop constraint %I', c.tab, c.conname);
  end loop;
end $$;

drop trigger cluster_term_check on cluster_term;
drop function check_term();
drop trigger limit_states_check on limit_states;
drop function check_limits();
alter table limit_states drop column minute_floor, drop column day_floor;
create or replace function notify_key() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'key ' || encode(coalesce(new.digest, old.digest), 'hex'));
  return null;
end $$;
create or replace function notify_ban() returns trigger language plpgsql as $$
begin
  perform pg_notify('petstore_callers', 'key ' || encode(digest, 'hex'))
  from api_keys where id = coalesce(new.key_id, old.key_id);
  return null;
end $$;
alter function notify_ban() security invoker;
alter function notify_ban() reset search_path;
drop function find_caller(bytea, timestamptz);
drop function find_key(bytea);
drop function place_automatic_ban(bigint, text);
drop function add_usage(text, bigint, bigint[], bigint[], text[], text[], bigint[], bigint[], text[], bigint[]);
drop function add_refusals(bigint[], text[], bigint[], text[], bigint[], text[], text[], text[], text[], bigint[], bigint[], boolean[], text[], text[], bigint[]);
drop function prune_refusals(timestamptz, integer);
drop function prune_key_limits(bigint, integer);

-- As in 0008.
create or replace function prune_idempotency_keys(at timestamptz, after bigint, most integer, out last bigint, out removed integer)
language plpgsql security invoker as $$
declare
  n integer;
begin
  removed := 0;
  for last in select id from tenants where id > after order by id limit 1000 loop
    perform set_config('petstore.tenant_id', last::text, true);
    with expired as materialized (
      select method, path, key from idempotency_keys
      where tenant_id = last and expires_at <= at
      order by expires_at limit most - removed
      for update skip locked
    )
    delete from idempotency_keys k using expired e
    where k.tenant_id = last and k.method = e.method and k.path = e.path and k.key = e.key;
    get diagnostics n = row_count;
    removed := removed + n;
    exit when removed >= most;
  end loop;
  perform set_config('petstore.tenant_id', '', true);
end $$;
alter function prune_idempotency_keys(timestamptz, bigint, integer) reset search_path;

-- As before 0014.
grant execute on function notify_tenant, notify_all, notify_key, notify_ban, prune_idempotency_keys to public;
grant select on plans, tenants, tenant_plans, api_keys, schema_migrations to petstore_api;
grant update (last_used_at) on api_keys to petstore_api;
grant select, insert on bans to petstore_api;
grant select, insert, update on pets, usage_hourly to petstore_api;
grant select, insert, update (status) on orders to petstore_api;
grant select, insert, update, delete on usage_writers, servers, idempotency_keys, limit_states to petstore_api;
grant select, insert, update (suppressed), delete on refusals to petstore_api;
grant select, update on cluster_term to petstore_api;
grant insert on audit_entries to petstore_api;
