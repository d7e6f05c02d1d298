-- If 0050 was interrupted, its index is there and unused, and the next attempt passes over it.
do $$
begin
  if not (select indisvalid from pg_index where indexrelid = 'idempotency_keys_expired'::regclass) then
    raise exception 'the index idempotency_keys_expired was not finished; as the owner: drop index concurrently idempotency_keys_expired; create it again as its migration does; then migrate again';
  end if;
end $$;

-- prune_idempotency_keys as before, but with the condition of its index.
create or replace function prune_idempotency_keys(at timestamptz, after bigint, most integer, out last bigint, out removed integer)
language plpgsql security definer as $$
declare
  n integer;
begin
  at := least(at, now());
  removed := 0;
  for last in select id from tenants where id > after order by id limit 1000 loop
    perform set_config('petstore.tenant_id', last::text, true);
    -- Rows that a request is writing over, or that another server is removing, are left alone.
    with expired as materialized (
      select method, path, key from idempotency_keys
      where tenant_id = last and expires_at <= at and expires_at > '-infinity'
      order by expires_at limit most - removed
      for update skip locked
    )
    delete from idempotency_keys k using expired e
    where k.tenant_id = last and k.method = e.method and k.path = e.path and k.key = e.key;
    get diagnostics n = row_count;
    removed := removed + n;
    exit when removed >= most;
  end loop;
  perform set_config('petstore.tenant_id', '', true);
end $$;

do $$
begin
  execute format('alter function prune_idempotency_keys set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;
