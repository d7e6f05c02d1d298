create index audit_entries_by_tenant_and_number on audit_entries (tenant_id, number);

drop index audit_entries_by_action, audit_entries_by_actor, audit_entries_by_login, audit_entries_by_time, audit_entries_by_tenant, audit_entries_by_subject;
alter index audit_entries_by_tenant_and_number rename to audit_entries_by_tenant;
