drop function month_usage;
