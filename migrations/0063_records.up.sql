-- A term begins where the records stand: that may be less than its row says, because grants were not returned or replies were lost.
create or replace function check_limits() returns trigger language plpgsql as $$ begin
  if new.term < old.term or new.term > old.term and new.term > (select number from cluster_term) or new.term = old.term and (new.minute < old.minute or new.day < old.day)
     or greatest(new.minute * 60 * (new.minute > old.minute)::int, new.day * 86400 * (new.day > old.day)::int) - 60 > extract(epoch from clock_timestamp()) then
    raise exception 'terms and windows of limits only move forward, to the current ones' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
alter table limit_states drop constraint limit_states_check, drop constraint limit_states_check1;
