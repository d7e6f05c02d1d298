-- The names and reasons that entries no longer hold do not come back; only the subject of a tenant's change is its name again.
drop table audit_head cascade;
drop trigger audit_append on audit_entries;
drop trigger audit_refuse on audit_entries;
drop trigger audit_refuse_row on audit_entries;
drop function audit_append();
drop function audit_refuse();
drop function audit_head_refuse();
drop function audit_canonical(audit_entries);

update audit_entries set subject = t.name from tenants t where subject = 'tenant:' || t.id;
update audit_entries a set tenant_id = null
where tenant_id is not null and not exists (select from tenants t where t.id = a.tenant_id);

alter table audit_entries
  drop column login,
  drop column address,
  drop column prev,
  drop column hash,
  drop constraint audit_entries_tenant_id_check,
  drop constraint audit_entries_before_check,
  drop constraint audit_entries_after_check,
  drop constraint audit_entries_number_check;
alter table audit_entries rename column claimed_actor to actor;
alter table audit_entries rename column number to id;
alter table audit_entries alter column id add generated always as identity;
select setval(pg_get_serial_sequence('audit_entries', 'id'), (select coalesce(max(id), 0) + 1 from audit_entries), false);
alter table audit_entries add foreign key (tenant_id) references tenants (id);
