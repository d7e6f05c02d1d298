revoke select on tenant_plans from petstore_api;
drop table limit_states;
alter table servers reset (fillfactor);
alter table servers drop column acked, drop column redis;
drop table fleet;
