lock table usage_months in access exclusive mode;
drop trigger usage_months_sealed on usage_months;
do $$
begin
  execute regexp_replace(pg_get_functiondef('add_usage'::regproc), '  perform (begin_days|tell_recorded)\(.*?;\n\n?', '', 'g');
  execute regexp_replace(pg_get_functiondef('count_in_months'::regproc), '  update tenant_days .*?;\n\n', '');
end $$;
drop function emit_month, tell_refusals, tell_recorded, tell_thresholds, begin_days, days_of;
