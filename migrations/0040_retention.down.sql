drop function roll_up_usage;
drop function end_roll_up;
drop function prune_keys;
drop function prune_bans;
drop index bans_by_end;

-- prune_failed_requests removes at most so many failed requests from before the instant, and from before the last day, and of those without
-- a key all but the latest 10,000. It returns how many.
create or replace function prune_failed_requests(before timestamptz, most integer) returns integer language plpgsql security definer as $$
declare
  removed integer;
  beyond  integer;
begin
  with old as materialized (
    select f.server_id, f.number from failed_requests f where f.at < least(before, now() - interval '1 day')
    order by f.at limit most for update skip locked
  )
  delete from failed_requests f using old o where f.server_id = o.server_id and f.number = o.number;
  get diagnostics removed = row_count;

  with over as materialized (
    select f.server_id, f.number from failed_requests f
    where f.key_id is null
      and f.at < (select s.at from failed_requests s where s.key_id is null order by s.at desc offset 9999 limit 1)
    order by f.at limit most - removed for update skip locked
  )
  delete from failed_requests f using over o where f.server_id = o.server_id and f.number = o.number;
  get diagnostics beyond = row_count;
  return removed + beyond;
end $$;
do $$
begin
  execute format('alter function prune_failed_requests set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;

drop function note_retention;
drop function retention_turn;
drop function retention_before;
drop table retention;
