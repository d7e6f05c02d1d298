drop table audit_entries;
