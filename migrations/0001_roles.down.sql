-- The roles belong to the cluster and stay: other databases may use them.
revoke all on schema_migrations from petstore_api, petstore_support, petstore_billing;
do $$
declare
  s name := current_schema();
begin
  execute format('revoke all on schema %I from petstore_api, petstore_support, petstore_billing', s);
  execute format('revoke all on database %I from petstore_api, petstore_support, petstore_billing', current_database());
  execute format('grant usage on schema %I to public', s);
  execute format('grant connect, temporary on database %I to public', current_database());
end $$;
alter default privileges grant execute on functions to public;
alter default privileges grant usage on types to public;
