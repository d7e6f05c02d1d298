-- Lists of animals by category, in the order of IDs for each status. Animals are added meanwhile; it waits for older transactions.
create index concurrently if not exists pets_by_category on pets (tenant_id, category_id, status, id);
