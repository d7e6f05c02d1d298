drop function failed_requests_of, ban_of_key;
