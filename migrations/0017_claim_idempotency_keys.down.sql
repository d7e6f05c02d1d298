drop function claim_idempotency_keys;
