-- Calls to Redis that a server makes for another one, which alone can't reach Redis, and their results. They live for some
-- milliseconds. What a crash or a failover loses was in vain: the caller gives up.
create unlogged table relayed_calls (
  caller  text not null,
  number  bigint not null,
  server  text not null,
  call    bytea not null,
  result  bytea,
  made_at timestamptz not null default clock_timestamp(),
  primary key (caller, number)
);

grant select, insert (caller, number, server, call), update (server, result), delete on relayed_calls to petstore_api;
