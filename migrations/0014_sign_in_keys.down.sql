drop function asker_of;
alter function asker_of_key(bytea) rename to asker_of;
