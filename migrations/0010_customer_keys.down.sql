do $$
begin
  if exists (select from api_keys where scope = 'manage') then
    raise exception 'keys have the scope manage, which earlier releases do not know: revoke them, and give them the scope write, first';
  end if;
end $$;
alter table api_keys drop constraint api_keys_scope, add constraint api_keys_scope check (scope in ('read', 'write'));
