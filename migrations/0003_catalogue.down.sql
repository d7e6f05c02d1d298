drop table idempotency_keys, orders, pets;
drop domain pet_name, pet_status, order_status;
drop function refuse_late_write, prune_idempotency_keys;
