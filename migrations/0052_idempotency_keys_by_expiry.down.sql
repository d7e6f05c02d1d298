create index concurrently if not exists idempotency_keys_by_expiry on idempotency_keys (tenant_id, expires_at);
