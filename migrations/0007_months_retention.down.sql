lock table tenants, tenant_plans, usage_hourly, usage_months, usage_lines, usage_late, event_source, receivers, sent_events, retention in access exclusive mode;
drop trigger usage_hourly_closed_insert on usage_hourly;
drop trigger usage_hourly_closed_update on usage_hourly;
drop trigger usage_hourly_closed_delete on usage_hourly;
drop trigger usage_hourly_closed_truncate on usage_hourly;
drop view usage_closings, usage_deliveries, usage_counted, usage_arrived, usage_recorded;
drop table retention, sent_events, receivers, event_source, usage_late, usage_lines, usage_months;
drop function closed_until, open_month_before, begin_closing, check_usage_month, check_usage_lines, check_usage_line, refuse_late_usage,
  check_closed_usage, month_usage, retention_before, retention_turn, note_retention, prune_bans, prune_keys, prune_failed_requests, roll_up_usage,
  end_roll_up;
