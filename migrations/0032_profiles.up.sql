-- What staff note about a tenant, and its name, can be edited. Billing references and addresses are known when a tenant is created.
alter table tenants
  add contact text check (contact <> '' and length(contact) <= 200),
  add notes   text check (notes <> '' and length(notes) <= 1000);

grant insert (billing_ref, email, contact, notes), update (name, contact, notes) on tenants to petstore_support;
