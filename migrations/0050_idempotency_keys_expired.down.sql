drop index concurrently if exists idempotency_keys_expired;
