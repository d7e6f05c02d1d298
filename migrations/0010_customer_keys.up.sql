-- The scope manage: write, and the tenant's keys. find_caller does not find such a key, as it finds none with another scope than write.
alter table api_keys drop constraint api_keys_scope, add constraint api_keys_scope check (scope in ('read', 'write', 'manage'));
