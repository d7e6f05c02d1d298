-- What `petstorectl find` looks for: numbers of bans, the last four characters of keys, and beginnings of names, addresses and billing
-- references. With text_pattern_ops an index serves the beginning of a text in any collation, and equality.
--
-- While an index is made, and until the migration ends, its table is only read: so the largest comes first.
create index api_keys_by_last4 on api_keys (last4, id);
create index api_keys_by_name on api_keys (lower(name) text_pattern_ops, id) where name <> '';
create index tenants_by_name on tenants (name text_pattern_ops);
create index tenants_by_email on tenants (lower(email) text_pattern_ops) where email is not null;
create index tenants_by_billing_ref on tenants (billing_ref text_pattern_ops) where billing_ref is not null;
create index bans_by_number on bans (id);
