-- 0021 makes callers_of_keys.
-- note_presented notes that keys were sent to servers. It skips a key that is being changed now, so that nothing waits.
create function note_presented(ids text[]) returns void language sql security definer as $$
  update api_keys k set presented = true
  where k.id in (select o.id from api_keys o where o.id = any(ids) and not o.presented order by o.id for no key update skip locked)
$$;

do $$
declare
  f regproc;
begin
  foreach f in array array['note_presented']::regproc[] loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', f, current_schema());
  end loop;
end $$;
revoke execute on function note_presented from public;
grant execute on function note_presented to petstore_api;
