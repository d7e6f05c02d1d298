drop index concurrently if exists orders_by_pet;
