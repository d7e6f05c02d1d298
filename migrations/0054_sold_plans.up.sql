-- GET /v1/plans shows the plans that are sold, with their numbers.
grant select (name, position, version, per_minute, per_day, retires_at) on plans to petstore_api;
