-- If 0043 was interrupted, its index is there and unused, and the next attempt passes over it.
do $$
begin
  if not (select indisvalid from pg_index where indexrelid = 'orders_by_pet'::regclass) then
    raise exception 'the index orders_by_pet was not finished; as the owner: drop index concurrently orders_by_pet; create index concurrently orders_by_pet on orders (tenant_id, pet_id); then migrate again';
  end if;
end $$;
