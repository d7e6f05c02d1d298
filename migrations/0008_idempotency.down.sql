drop table idempotency_keys;
