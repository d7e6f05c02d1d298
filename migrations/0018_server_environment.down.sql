alter table servers drop column environment;
