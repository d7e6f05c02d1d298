-- no transaction
-- The failed requests of one status and code of a tenant, by time. Of 10 million rows it is made in half a minute, and nobody waits.
create index concurrently if not exists failed_requests_by_kind on failed_requests (tenant_id, status, code, at);
