-- Who changed what, and why. Written in the transaction of the change; never changed afterwards.

create table audit_entries (
  id        bigint generated always as identity primary key,
  at        timestamptz not null,
  actor     text not null,
  action    text not null,
  tenant_id bigint references tenants (id),
  subject   text not null,
  before    jsonb,
  after     jsonb,
  reason    text not null default ''
);

create index audit_entries_by_tenant on audit_entries (tenant_id, id);

grant insert on audit_entries to petstore_api;
