update limit_states set minute_unknown = 0, day_unknown = 0, minute_floor = 0, day_floor = 0;
alter table limit_states add check (minute_unknown between 0 and minute_used), add check (day_unknown between 0 and day_used);
create or replace function check_limits() returns trigger language plpgsql as $$
declare
  refused boolean;
begin
  refused := new.term < old.term or new.accounted < old.accounted or new.minute < old.minute or new.day < old.day
    or new.term = old.term and new.redis <> old.redis
    or new.minute > old.minute and new.minute * 60 - 60 > extract(epoch from clock_timestamp())
    or new.day > old.day and new.day * 86400 - 60 > extract(epoch from clock_timestamp());
  if not refused and new.term > old.term then
    refused := new.term > (select number from cluster_term);
  end if;
  if refused then
    raise exception 'terms and windows of limits only move forward, to the current ones' using errcode = 'insufficient_privilege';
  end if;
  if new.term = old.term and (
       new.minute_unknown <> case when new.minute = old.minute then old.minute_unknown else 0 end
       or new.day_unknown <> case when new.day = old.day then old.day_unknown else 0 end) then
    raise exception 'what is unknown of a window changes with the term only' using errcode = 'insufficient_privilege';
  end if;
  new.minute_floor := case when new.minute > old.minute then 0
    when new.term > old.term then old.minute_used - old.minute_unknown else old.minute_floor end;
  new.day_floor := case when new.day > old.day then 0
    when new.term > old.term then old.day_used - old.day_unknown else old.day_floor end;
  if new.minute_used - new.minute_unknown < new.minute_floor or new.day_used - new.day_unknown < new.day_floor then
    raise exception 'what a window has used before the term began is not given back' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
