-- What lists filter by, in the order in which they print it: so the first rows of a list with any filter are found at once.
--
-- create index lets others read its table, but not write it, until the migration ends. So the tables come in the order of their size, and
-- none waits for a larger one: while the indexes of keys are made, no key is issued or changed and usage is recorded late, and bans can't
-- be placed for some milliseconds. drop index comes last, because it also blocks whoever reads: requests whose key is not in a server's
-- memory. The audit trail, which is larger than all of this, has its indexes in 0034.

-- Parts of texts. An owner of the database may make this extension; it may be in another schema already.
create extension if not exists pg_trgm;

-- No index of keys has last_used_at: servers write it all the time, and an update of what no index has is cheap.
create index api_keys_by_tenant_and_age on api_keys (tenant_id, created_at desc, id);
create index api_keys_by_expiry on api_keys (expires_at, id) where revoked_at is null;
create index api_keys_by_revocation on api_keys (revoked_at, id) where revoked_at is not null;

do $$
declare
  gin text := (select format('gin (%%s %I.gin_trgm_ops)', n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm');
begin
  -- On the column itself: the planner does not use the statistics of an expression for a login that may not read the whole table, and
  -- support may not read digests. So it could not tell a rare word from a frequent one.
  execute 'create index api_keys_name_part on api_keys using ' || format(gin, 'name');
  execute 'create index tenants_name_part on tenants using ' || format(gin, 'name');
  execute 'create index tenants_email_part on tenants using ' || format(gin, 'lower(email)');
  execute 'create index tenants_billing_ref_part on tenants using ' || format(gin, 'lower(billing_ref)');
end $$;
create index tenants_suspended on tenants (name) where suspended_at is not null;
create index tenant_plans_by_plan on tenant_plans (plan, tenant_id);

create index bans_by_start on bans (starts_at, id);
create index bans_in_force on bans (ends_at) where lifted_at is null;

drop index api_keys_by_tenant;
alter index api_keys_by_tenant_and_age rename to api_keys_by_tenant;
