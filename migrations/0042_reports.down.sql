drop function count_bans;
alter table servers drop reports;
