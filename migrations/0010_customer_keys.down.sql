lock table api_keys, audit_entries in access exclusive mode;
do $$
begin
  if exists (select from api_keys where scope = 'manage') then
    raise exception 'keys have the scope manage, which earlier releases do not know: revoke them, and give them the scope write, first';
  end if;
end $$;
alter table api_keys drop column presented, drop constraint api_keys_scope, add constraint api_keys_scope check (scope in ('read', 'write'));

-- Some are those of 0020, others those that this migration had before.
drop function if exists own_keys, manage_key, change_own_key, change_key_as_staff, change_key, check_room, without_digest, check_last_key, admits, copy_ban, rotate_key,
  add_key, changed_key;
drop view customer_keys;
drop function valid_keys, made_of_itself, asker_of, refuse_key_change, audit_entry, key_record, key_version, audit_instant;
drop trigger api_keys_refuse_late_insert on api_keys;
drop trigger api_keys_refuse_late_update on api_keys;
drop trigger audit_entries_rotation on audit_entries;
drop function check_rotation;
