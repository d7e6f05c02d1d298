-- What was handed on to billing systems.

-- The namespace of the IDs of events. It stays with the database when that is dumped and restored.
create table event_source (
  is_source boolean primary key default true check (is_source),
  id        uuid not null default gen_random_uuid()
);
insert into event_source default values;

-- One row for each event that was written for a receiver. The events of a tenant, an hour and an assignment add up to what the receiver
-- has of it. Rows are only added. They refer to no other table: what was sent stays sent, whatever becomes of the tenant.
create table sent_events (
  receiver   text not null check (receiver ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
  hour       timestamptz not null check (isfinite(hour)),
  tenant_id  bigint not null,
  assignment bigint not null,
  -- 0 for the first event, and one more for each that corrects it
  correction integer not null check (correction >= 0),
  event_id   uuid not null,
  format     text not null,
  -- The hour to which the receiver counts the event. It differs for a correction of a closed month.
  counted_at  timestamptz not null check (isfinite(counted_at)),
  billing_ref text not null,
  version     integer not null,
  admitted    bigint not null,
  refused     bigint not null,
  sent_at     timestamptz not null default now(),
  sent_by     text not null default session_user,
  primary key (receiver, hour, tenant_id, assignment, correction)
);

-- Usage with the hour to which it counts for receivers.
create view usage_counted as select tenant_id, hour, hour as counted_at, key_id, assignment, version, admitted, refused from usage_hourly;

grant select on event_source, sent_events, usage_counted to petstore_billing;
grant insert (receiver, hour, tenant_id, assignment, correction, event_id, format, counted_at, billing_ref, version, admitted, refused)
  on sent_events to petstore_billing;
