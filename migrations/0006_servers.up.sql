-- The servers that are alive: without Redis each admits its share, and the share needs their number.

create table servers (
  id      text primary key,
  seen_at timestamptz not null
);

grant select, insert, update, delete on servers to petstore_api;
