-- Only the removal of expired answers may use this index: its condition is always true, and only that statement has it. An index on the
-- same columns without a condition fits the look-up of a key as well. For a tenant without keys when the table was last analysed, Postgres
-- then may read all of the tenant's keys to find one. Answers are stored meanwhile; it waits for older transactions.
create index concurrently if not exists idempotency_keys_expired on idempotency_keys (tenant_id, expires_at) where expires_at > '-infinity';
