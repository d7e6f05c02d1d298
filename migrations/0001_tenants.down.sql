-- The role petstore_api belongs to the cluster and stays: other databases may use it.
drop table tenant_plans;
drop table tenants;
drop table plans;
drop function notify_tenant();
drop function notify_all();
