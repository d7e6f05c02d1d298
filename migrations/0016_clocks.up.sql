-- By how many milliseconds a server's own clock is ahead of this database's, negative if it is behind; 0 while that is a second at most.
alter table servers add clock_ahead bigint not null default 0 check (abs(clock_ahead) <= 9000000000000);

grant update (clock_ahead) on servers to petstore_api;
