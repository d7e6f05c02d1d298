-- Group roles with the least rights that each needs. docs/roles.md lists them, and a test compares the two.

-- Only an owner can take rights away from PUBLIC. For anybody else Postgres would only warn.
do $$
declare
  d name := current_database();
  s name := current_schema();
begin
  if not pg_has_role((select datdba from pg_database where datname = d), 'usage') then
    raise exception 'role % does not own the database; an administrator must run: %',
      current_user, format('alter database %I owner to %I', d, current_user);
  end if;
  if not pg_has_role((select nspowner from pg_namespace where nspname = s), 'usage') then
    raise exception 'role % does not own the schema %; an administrator must run: %',
      current_user, s, format('alter schema %I owner to %I', s, current_user);
  end if;
end $$;

-- Roles belong to the cluster, so another database's migration may have made them, even at this moment.
do $$
declare
  r name;
begin
  foreach r in array array['petstore_api', 'petstore_support', 'petstore_billing'] loop
    begin
      if not exists (select from pg_roles where rolname = r) then
        execute format('create role %I nologin', r);
      end if;
    exception
      when duplicate_object or unique_violation then
        null;
      when insufficient_privilege then
        raise exception 'role % may not create roles; an administrator must run: create role % nologin', current_user, r;
    end;
  end loop;
end $$;

-- PUBLIC has no rights, not even on what later migrations make.
do $$
declare
  s name := current_schema();
begin
  if not pg_has_role(current_user, 'petstore_api', 'member') then
    execute format('grant petstore_api to %I', current_user);
  end if;
  execute format('revoke all on database %I from public', current_database());
  execute format('revoke all on schema %I from public', s);
  execute format('grant connect on database %I to petstore_api, petstore_support, petstore_billing', current_database());
  execute format('grant usage on schema %I to petstore_api, petstore_support, petstore_billing', s);
end $$;

alter default privileges revoke all on tables from public;
alter default privileges revoke all on sequences from public;
alter default privileges revoke all on functions from public;
alter default privileges revoke all on types from public;

grant select on schema_migrations to petstore_api, petstore_support, petstore_billing;
