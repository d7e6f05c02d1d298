-- Nothing: 0043 drops it.
select 1;
