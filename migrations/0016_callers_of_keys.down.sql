drop function callers_of_keys;
