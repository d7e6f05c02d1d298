create or replace function begin_closing(closed date, leave_out text[]) returns void language plpgsql security definer as $$
declare
  earlier date;
begin
  -- Batches hold this table in the mode ROW SHARE. Those under way are complete afterwards, the others see the closed month.
  lock table usage_months in exclusive mode;
  if exists (select from usage_months m where m.month = closed) then
    return;
  end if;
  if (closed + interval '1 month') at time zone 'UTC' > now() then
    raise exception '% has not ended', to_char(closed, 'YYYY-MM') using errcode = 'check_violation', constraint = 'usage_months_open';
  end if;
  earlier := open_month_before(closed);
  if earlier is not null then
    raise exception '% is open', to_char(earlier, 'YYYY-MM') using errcode = 'check_violation', constraint = 'usage_months_order';
  end if;
  update usage_writers set left_out_at = now() where server_id = any (leave_out);
  insert into usage_months (month, without) values (closed, leave_out);
end $$;

create or replace function check_usage_month() returns trigger language plpgsql as $$
begin
  if tg_op in ('DELETE', 'TRUNCATE') or tg_op = 'UPDATE' and (old.sealed_at is not null
       or (new.month, new.without, new.begun_at, new.begun_by) is distinct from (old.month, old.without, old.begun_at, old.begun_by)) then
    raise exception 'a closed month is never changed' using errcode = 'check_violation', constraint = 'usage_months_closed';
  end if;
  if tg_op = 'UPDATE' then
    new.sealed_at := now();
    new.sealed_by := session_user;
  end if;
  return new;
end $$;

do $$
begin
  execute format('alter function begin_closing set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;

alter table usage_months drop column void;
