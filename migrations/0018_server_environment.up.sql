lock table servers in access exclusive mode;
-- The kind of deployment whose keys a server accepts, live or test: new keys are for that. Empty until it has said so.
alter table servers add column environment text not null default '' constraint servers_environment_known check (environment in ('', 'live', 'test'));
grant update (environment) on servers to petstore_api;
