-- Nothing: a constraint that is valid may stay so.
select 1;
