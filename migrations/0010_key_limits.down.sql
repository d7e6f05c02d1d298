drop table refusals;

drop trigger api_keys_notify on api_keys;
alter table api_keys drop column per_minute;
create trigger api_keys_notify
  after insert or update of digest, environment, expires_at, revoked_at, tenant_id or delete on api_keys
  for each row execute function notify_key();
