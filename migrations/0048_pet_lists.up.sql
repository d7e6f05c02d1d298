-- If 0046 or 0047 was interrupted, its index is there and unused, and the next attempt passes over it.
do $$
declare
  unfinished text;
begin
  select indexrelid::regclass::text into unfinished from pg_index
  where indexrelid in ('pets_by_category'::regclass, 'pets_by_name'::regclass) and not indisvalid order by 1 limit 1;
  if unfinished is not null then
    raise exception 'the index % was not finished; as the owner: drop index concurrently %; create it again as its migration does; then migrate again', unfinished, unfinished;
  end if;
end $$;
