drop table bans;
drop table api_keys;
drop function notify_ban();
drop function notify_key();
