drop index if exists failed_requests_by_kind;
