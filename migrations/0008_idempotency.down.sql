drop function prune_idempotency_keys;
drop table idempotency_keys;
