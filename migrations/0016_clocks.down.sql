alter table servers drop clock_ahead;
