revoke select (name, position, version, per_minute, per_day, retires_at) on plans from petstore_api;
