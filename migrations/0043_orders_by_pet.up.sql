-- For each animal that is removed Postgres looks for its orders. Orders are placed and changed meanwhile; it waits for older transactions.
create index concurrently if not exists orders_by_pet on orders (tenant_id, pet_id);
