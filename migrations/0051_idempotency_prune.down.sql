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
      where tenant_id = last and expires_at <= at
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
