alter table undo_values add column undoes bigint check (undoes > 0 and undoes < number);
grant select (undoes), insert (undoes) on undo_values to petstore_billing;
grant insert (undoes) on undo_values to petstore_support;
