-- What lists of the audit trail filter by, in the order in which they print it, and later changes of the same thing.
--
-- They are a migration of their own because they take the longest: meanwhile no entry can be written, so changes by staff and automatic
-- bans wait or fail. Requests do not read the trail. drop index also blocks who reads, so it comes last.
create index audit_entries_by_subject on audit_entries (subject, number);
create index audit_entries_by_tenant_and_time on audit_entries (tenant_id, at, number);
create index audit_entries_by_time on audit_entries (at, number);
create index audit_entries_by_login on audit_entries (login, at, number);
create index audit_entries_by_actor on audit_entries (claimed_actor, at, number);
-- For the actions of a noun too, in any collation.
create index audit_entries_by_action on audit_entries (action text_pattern_ops, at, number);

drop index audit_entries_by_tenant;
alter index audit_entries_by_tenant_and_time rename to audit_entries_by_tenant;
