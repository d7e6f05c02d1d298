-- Nothing: 0046 and 0047 drop the indexes.
select 1;
