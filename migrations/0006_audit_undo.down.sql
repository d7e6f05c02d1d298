lock table tenants, price_list, plan_versions, tenant_plans, audit_head, audit_entries, audit_partitions, audit_beginning, undo_values in access exclusive mode;
drop trigger price_list_audit on price_list;
drop trigger plan_versions_audit on plan_versions;
drop trigger tenant_plans_audit on tenant_plans;
drop view role_audit_entries;
drop function audit_canonical;
drop table undo_values, audit_beginning, audit_partitions, audit_entries, audit_head;
drop function audit_append, audit_refuse, audit_head_refuse, protect_audit_partition, cut_audit_trail, remove_audit_entries,
  audit_by_trigger, audit_price_list, audit_plan_version, audit_tenant_plan, count_bans, check_undo_values, prune_undo_values;
