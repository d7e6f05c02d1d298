drop index concurrently if exists pets_by_name;
