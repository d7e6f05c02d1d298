-- A server checks at start how far the database has been migrated, with the rights of its own login.
grant select on schema_migrations to petstore_api;
