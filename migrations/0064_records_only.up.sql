-- What a term no longer knows goes: no program of the release before reads it. Rows of limits come first, as in the servers' transactions.
drop trigger limit_states_check on limit_states;
alter table limit_states drop column redis, drop column accounted, drop column minute_floor, drop column day_floor,
  drop column minute_unknown, drop column day_unknown;
-- Most updates only add within a term and its windows.
create trigger limit_states_check before update on limit_states for each row
  when (new.term <> old.term or new.minute <> old.minute or new.day <> old.day) execute function check_limits();

alter table cluster_term drop column folded_until;
-- A term's number only grows. It comes from the clock, which may be wrong, but not beyond 2^30; the rest of 31 bits can only be counted up.
create or replace function check_term() returns trigger language plpgsql as $$
begin
  if new.number < old.number or new.number > old.number and new.number - 1 > greatest(old.number, (1 << 30) + (1 << 20))
     or new.set_back < old.set_back or new.set_back > new.number
     or old.unclean_until is not null and new.unclean_until is null or new.unclean_until < old.unclean_until
     or new.unclean_until is distinct from old.unclean_until and new.unclean_until > clock_timestamp() + interval '1 minute'
     or new.not_before is distinct from old.not_before and new.not_before > clock_timestamp() + interval '1 minute' then
    raise exception 'terms follow each other, and the time of an unclean end only grows' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;

alter type cluster_state drop attribute folded_until;
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

drop table relayed_calls;
