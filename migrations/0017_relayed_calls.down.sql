drop table relayed_calls;
