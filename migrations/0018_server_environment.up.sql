lock table servers in access exclusive mode;
-- The environment whose keys a server accepts, live or test. New keys are for it. It is empty until the server has named it.
alter table servers add column environment text not null default '' constraint servers_environment_known check (environment in ('', 'live', 'test'));
grant update (environment) on servers to petstore_api;
