lock table usage_months in access exclusive mode;
drop trigger usage_months_sealed on usage_months;
do $$
begin
  execute replace(replace(pg_get_functiondef('add_usage'::regproc), E'  perform begin_days(tenants, hours, closed);\n', ''),
    E'  perform tell_recorded(tenants, hours, closed);\n\n', '');
  execute regexp_replace(pg_get_functiondef('count_in_months'::regproc), '  update tenant_days .*?;\n\n', '');
end $$;
drop function emit_month, tell_refusals, tell_recorded, tell_thresholds, begin_days, days_of;
