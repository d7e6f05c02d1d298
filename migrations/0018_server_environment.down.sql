lock table servers in access exclusive mode;
alter table servers drop column environment;
