lock table tenants, pets, orders, idempotency_keys in access exclusive mode;
drop table idempotency_keys, orders, pets;
drop domain pet_name, pet_status, order_status;
drop function refuse_late_write, prune_idempotency_keys;
