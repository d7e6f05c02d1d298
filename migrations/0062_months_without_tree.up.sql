-- A month is sealed by one hash, sha256: that of the hashes of its lines. These stay when the name of a tenant is removed from its lines,
-- so nothing else must be kept of them.
drop table erased_leaves;
-- The constraint of all columns that are null together goes with it.
alter table usage_months drop root;
alter table usage_months add check (num_nulls(format, tenants, lines, admitted, refused, sha256, sealed_at, sealed_by) in (0, 8));
