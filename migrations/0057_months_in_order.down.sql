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
  insert into usage_months (month, without, void)
  values (closed, leave_out, array(select a.id from tenant_plans a where a.voided_at is not null order by a.id));
end $$;

do $$
begin
  execute format('alter function begin_closing set search_path = pg_catalog, %I, pg_temp', current_schema());
end $$;
