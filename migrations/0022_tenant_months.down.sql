lock table tenants, plan_versions, tenant_plans, usage_hourly, servers, cluster_term, limit_states, tenant_months in access exclusive mode;
drop trigger plan_versions_last_release on plan_versions;
drop trigger tenant_plans_last_release on tenant_plans;
drop function refuse_month;
drop function renew_server(text, text, bigint, integer, bigint, boolean);
alter type cluster_state drop attribute months, drop attribute know_months;
create or replace function read_cluster() returns cluster_state language sql volatile as $$
  select t.number, t.active, t.redis, t.sole, t.unclean_until, t.servers, t.first, t.set_back, t.not_before, t.origin,
    database_name(), clock_timestamp(), s.ids, s.seen, s.reached, s.acked, s.leases
  from cluster_term t, (
    select coalesce(array_agg(o.id), '{}') as ids, coalesce(array_agg((extract(epoch from o.seen_at) * 1000000)::bigint), '{}') as seen,
      coalesce(array_agg(o.redis), '{}') as reached, coalesce(array_agg(o.acked), '{}') as acked,
      coalesce(array_agg(o.lease::bigint), '{}') as leases
    from (select * from servers order by id collate "C") o
  ) s
$$;
alter table servers drop column months;
alter table cluster_term drop column months;

drop trigger limit_states_check on limit_states;
create or replace function check_limits() returns trigger language plpgsql as $$
begin
  if new.term < old.term or new.term > old.term and new.term > (select number from cluster_term) or new.term = old.term and (new.minute < old.minute or new.day < old.day)
     or greatest(new.minute * 60 * (new.minute > old.minute)::int, new.day * 86400 * (new.day > old.day)::int) - 60 > extract(epoch from clock_timestamp()) then
    raise exception 'terms and windows of limits only move forward, to the current ones' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
create trigger limit_states_check before update on limit_states for each row
  when (new.term <> old.term or new.minute <> old.minute or new.day <> old.day) execute function check_limits();
alter table limit_states drop column month, drop column month_used;

do $$
begin
  execute regexp_replace(pg_get_functiondef('add_usage'::regproc), '  -- See count_in_months.*?;\n\n', '');
end $$;
drop trigger usage_hourly_added on usage_hourly;
drop trigger usage_hourly_changed on usage_hourly;
drop trigger usage_hourly_removed on usage_hourly;
drop function count_added_usage, count_changed_usage, count_removed_usage, count_in_months;
drop table tenant_months;
revoke select (server_id, written_at) on usage_writers from petstore_support;
