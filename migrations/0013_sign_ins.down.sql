lock table tenants, api_keys, sign_ins, invites in access exclusive mode;
drop trigger tenants_end_sign_ins on tenants;
drop trigger api_keys_end_sign_ins on api_keys;
drop function end_sign_ins, prune_sign_ins, bans_for_sign_in, end_sign_in, list_sign_ins, use_sign_in, open_sign_in, live_sign_in,
  invite_tenant;
drop table invites, sign_ins;
