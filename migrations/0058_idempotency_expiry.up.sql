-- A stored response is kept for a day. Whoever has the API's login stores none that stays for ever. A second day is for clocks that step. Rows
-- from before are gone within a day, so no scan holds the lock on them.
alter table idempotency_keys add constraint idempotency_keys_expiry check (expires_at < now() + interval '2 days') not valid;
