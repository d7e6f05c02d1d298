revoke insert (billing_ref, email), update (name) on tenants from petstore_support;
alter table tenants drop column contact, drop column notes;
