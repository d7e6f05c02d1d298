-- drop index blocks whoever reads the table until the migration ends, so it comes after all that takes time.
create index api_keys_by_tenant_and_id on api_keys (tenant_id, id);

drop index tenant_plans_by_plan, tenants_suspended, tenants_billing_ref_part, tenants_email_part, tenants_name_part;
drop index bans_in_force, bans_by_start;
drop index api_keys_name_part, api_keys_by_revocation, api_keys_by_expiry, api_keys_by_tenant;
alter index api_keys_by_tenant_and_id rename to api_keys_by_tenant;
-- The extension stays: another program may use it by now.
