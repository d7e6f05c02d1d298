revoke select (number) on audit_entries from petstore_billing;
