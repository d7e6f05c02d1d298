drop view usage_counted;
drop table sent_events;
drop table event_source;
