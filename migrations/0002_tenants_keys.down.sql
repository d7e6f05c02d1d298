lock table tenants, api_keys, ban_lengths, bans in access exclusive mode;
drop table bans, ban_lengths, api_keys, tenants;
drop function notify_tenant, notify_all, notify_key, notify_ban, check_revocation, find_key, find_caller, next_ban_length, place_automatic_ban;
