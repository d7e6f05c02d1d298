-- Lists of animals by the beginning of their name. "C" is the order of code points, in which all names with the same beginning are next to
-- each other. Animals are added meanwhile; it waits for older transactions.
create index concurrently if not exists pets_by_name on pets (tenant_id, name collate "C", id);
