alter table refusals rename column suppressed to skipped;
alter table refusals rename column partial to share;
alter table cluster_term rename column unclean_until to closed;
alter table cluster_term rename column sole to alone;
alter table cluster_term rename to fleet;
