drop function callers_of_keys, note_presented;
