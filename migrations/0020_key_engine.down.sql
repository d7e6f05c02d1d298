-- The engine stays: the servers of earlier releases call its manage_key, and their petstorectl changes keys by SQL.
revoke execute on function change_key_as_staff from petstore_support;
