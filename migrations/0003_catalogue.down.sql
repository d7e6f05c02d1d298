drop table idempotency_keys, orders, pets;
drop function refuse_late_write, prune_idempotency_keys;
