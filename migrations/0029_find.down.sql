drop index tenants_by_billing_ref;
drop index tenants_by_email;
drop index tenants_by_name;
drop index api_keys_by_name;
drop index api_keys_by_last4;
drop index bans_by_number;
