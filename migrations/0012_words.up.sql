-- The words of docs/glossary.md, for what had others.
alter table fleet rename to cluster_term;
alter table cluster_term rename column alone to sole;
alter table cluster_term rename column closed to unclean_until;
alter table refusals rename column share to partial;
alter table refusals rename column skipped to suppressed;
