-- Whoever makes a change learns the number of its audit entry. Billing may not read entries, but it may read their numbers.
grant select (number) on audit_entries to petstore_billing;
