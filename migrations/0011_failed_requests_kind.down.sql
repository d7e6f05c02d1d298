-- no transaction
drop index concurrently if exists failed_requests_by_kind;
