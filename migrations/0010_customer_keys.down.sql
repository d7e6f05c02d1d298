lock table api_keys, audit_entries in access exclusive mode;
do $$
begin
  if exists (select from api_keys where scope = 'manage') then
    raise exception 'keys have the scope manage, which earlier releases do not know: revoke them, and give them the scope write, first';
  end if;
end $$;
alter table api_keys drop column presented, drop constraint api_keys_scope, add constraint api_keys_scope check (scope in ('read', 'write'));

drop function own_keys, manage_key;
drop view customer_keys;
drop function valid_keys, made_of_itself, asker_of, refuse_key_change, check_last_key, admits, copy_ban, rotate_key, add_key, changed_key, audit_entry, key_record, key_version, audit_instant;
drop trigger api_keys_refuse_late_insert on api_keys;
drop trigger api_keys_refuse_late_update on api_keys;
drop trigger audit_entries_rotation on audit_entries;
drop function check_rotation;
create or replace function check_revocation() returns trigger language plpgsql as $$
begin
  if old.revoked_at is null and new.revoked_at is not null then
    new.revoked_by := session_user;
    new.revocation_final_at := clock_timestamp() + interval '15 minutes';
    return new;
  end if;
  new.revoked_by := old.revoked_by;
  new.revocation_final_at := old.revocation_final_at;
  if old.revoked_at is not distinct from new.revoked_at then
    return new;
  elsif new.revoked_at is not null then
    raise exception 'key % was revoked at %: that stays so', old.id, old.revoked_at
      using errcode = 'check_violation', constraint = 'api_keys_revoked';
  elsif old.revocation_final_at is null or old.revocation_final_at <= clock_timestamp() then
    raise exception 'key % was revoked more than 15 minutes ago: issue another one', old.id
      using errcode = 'check_violation', constraint = 'api_keys_revocation_final';
  elsif old.revoked_by <> session_user
        and not pg_has_role(session_user, (select relowner from pg_class where oid = tg_relid), 'usage') then
    raise exception 'key % was revoked by %: only that login or the owner of the tables may bring it back', old.id, old.revoked_by
      using errcode = 'check_violation', constraint = 'api_keys_revoked_by';
  end if;
  new.revoked_by := null;
  new.revocation_final_at := null;
  return new;
end $$;
