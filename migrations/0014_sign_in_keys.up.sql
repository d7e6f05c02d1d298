-- A person who is signed in manages the tenant's keys as a manage key does. Changes name the key of the sign-in, or the sign-in of an
-- invitation and the person who invited.
alter function asker_of(bytea) rename to asker_of_key;
create function asker_of(asker bytea, out tenant_id bigint, out key_id text, out environment text, out manages boolean, out actor text)
language plpgsql stable as $$
begin
  select s.tenant_id, s.key_id, s.environment, true, coalesce('key:' || s.key_id, 'sign-in:' || s.id || ' invited by ' || s.invited_by)
  into tenant_id, key_id, environment, manages, actor from live_sign_in(asker) s;
  if not found then
    select k.tenant_id, k.key_id, k.environment, k.manages, k.actor into tenant_id, key_id, environment, manages, actor from asker_of_key(asker) k;
  end if;
end $$;
