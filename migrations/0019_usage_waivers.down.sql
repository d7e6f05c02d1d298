lock table tenants, usage_waivers in access exclusive mode;
drop table usage_waivers;
