revoke select on schema_migrations from petstore_api;
