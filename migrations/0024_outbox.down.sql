lock table tenants, outbox, endpoints, endpoint_secrets, endpoint_slots, events, deliveries, attempts, once, outbox_servers in access exclusive mode;
drop function resume_outbox, reseal_secret, stale_secrets, outbox_keys, report_outbox, prune_outbox, finish_deliveries, claim_deliveries, hold_restored,
  emit_once, once_id, emit, add_event, wants;
drop table once, outbox_servers, attempts, deliveries, events, endpoint_slots, endpoint_secrets, endpoints, outbox;
