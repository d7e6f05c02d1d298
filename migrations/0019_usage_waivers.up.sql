lock table tenants in access exclusive mode;
-- Usage that is given up. What counts in hours before until is not handed on any more. '' stands for all receivers, including later ones.
create table usage_waivers (
  tenant_id bigint      not null references tenants(id),
  receiver  text        not null,
  until     timestamptz not null check (isfinite(until)),
  constraint usage_waivers_pkey primary key (tenant_id, receiver)
);
grant select, insert, update (until), delete on usage_waivers to petstore_billing;
grant select on usage_waivers to petstore_support;

-- From now on, handed_to is at most the first hour of which usage was left out. It was the instant up to which events were stored. Comparing
-- everything once finds the usage that was left out before.
update receivers set handed_to = begins;

-- Billing may read the entries about plans and usage: undo names the latest change of a login, also one that is final.
create or replace view role_audit_entries with (security_barrier) as
select e.* from audit_entries e
where has_table_privilege('audit_entries'::regclass, 'select') or e.subject like 'plan:%'
      or e.action in ('plan.void', 'plan.unvoid') or e.action like 'usage.%';
