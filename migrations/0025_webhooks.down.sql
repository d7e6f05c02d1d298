lock table tenants, api_keys, bans, pets, orders, plan_versions, tenant_plans, audit_entries in access exclusive mode;
drop function emit_key, emit_rotation, emit_ban, emit_tenant, emit_plan, emit_catalogue cascade;
drop function quota_changes, key_of_event, own_deliveries, manage_endpoint, next_endpoint, endpoint_record, send_as_staff, queue_deliveries, own_endpoints,
  refuse_notices;
drop view endpoint_deliveries;
