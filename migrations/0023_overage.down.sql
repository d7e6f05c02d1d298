lock table usage_months, sent_events in access exclusive mode;
drop view usage_counted, usage_overage_counted;
alter view usage_requests_counted rename to usage_counted;
drop function usage_overage;
revoke select on usage_arrived from petstore_billing, petstore_support;
alter table sent_events drop column overage;
alter table usage_months drop column overage;
drop trigger usage_months_format on usage_months;
drop function check_usage_format;
