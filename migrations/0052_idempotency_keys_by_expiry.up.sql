drop index concurrently if exists idempotency_keys_by_expiry;
