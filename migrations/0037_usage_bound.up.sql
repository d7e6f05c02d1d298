-- usage_hourly becomes a partition of itself in 0039, without a copy. For that, Postgres must know that no row is of the month after next
-- or later. This adds the constraint, 0038 checks the rows that are there, while servers go on recording, and 0039 relies on it. So each
-- of them locks the table for some milliseconds, however large it is.
create table usage_hourly_default (like usage_hourly including defaults including indexes);

do $$
declare
  bound constant text := to_char((date_trunc('month', now() at time zone 'UTC') + interval '2 months'), 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
begin
  -- Hours that far in the future come from a clock that is wrong. Closed months have none.
  execute format('with later as (delete from usage_hourly where hour >= %L returning *) insert into usage_hourly_default select * from later', bound);
  execute format('alter table usage_hourly add constraint usage_hourly_bound check (hour < %L) not valid', bound);
  execute format('comment on constraint usage_hourly_bound on usage_hourly is %L', bound);
end $$;
