lock table tenants, outbox, endpoints, endpoint_secrets, endpoint_slots, events, deliveries, attempts, once, tenant_days, outbox_servers, mailboxes, mails in access exclusive mode;
drop function resume_outbox, reseal_secret, stale_secrets, outbox_keys, report_outbox, prune_outbox, finish_deliveries, claim_deliveries, hold_restored,
  emit_once, once_id, emit, is_mailed, hears, add_event, wants;
drop view told;
drop table once, tenant_days, outbox_servers, mailboxes, mails, attempts, deliveries, events, endpoint_slots, endpoint_secrets, endpoints, outbox;
