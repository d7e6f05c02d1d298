-- What all servers agree on: which of them are alive, and whether Redis or Postgres decides over limits. And what Postgres
-- knows of the limits' counters when it does.

-- The term, in one row. Servers change it while they hold its lock.
create table fleet (
  one     boolean primary key default true check (one),
  number  bigint not null default 0,
  active  boolean not null default false,
  redis   text not null default '',
  alone   text not null default '',
  closed  timestamptz,
  servers integer not null default 0
);
insert into fleet default values;

-- Rows of an earlier version say nothing about terms.
delete from servers;
alter table servers
  add redis text not null default '',
  add acked bigint not null default 0;
-- Every row is written three times a second: the new version finds room on the page of the old one.
alter table servers set (fillfactor = 50);
alter table fleet set (fillfactor = 50);

-- One row for each tenant, scope '', and one for each key with a limit of its own. Only its windows' numbers, no times:
-- which window an instant belongs to is for the servers to say.
create table limit_states (
  tenant_id   bigint not null references tenants (id),
  scope       text not null,
  -- The latest term in which the row was used, whether Redis decided in it, and up to when it allows for servers that ended
  -- without a word.
  term        bigint not null default 0,
  redis       boolean not null default false,
  accounted   bigint not null default 0,
  minute      bigint not null default 0,
  minute_used bigint not null default 0,
  day         bigint not null default 0,
  day_used    bigint not null default 0,
  primary key (tenant_id, scope)
) with (fillfactor = 70);

grant select, update on fleet to petstore_api;
grant select, insert, update, delete on limit_states to petstore_api;
-- The highest limit that a tenant had on a day.
grant select on tenant_plans to petstore_api;
