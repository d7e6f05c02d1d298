-- claim_idempotency_keys tells for each of several keys of one endpoint, in order, whether its request is fresh. A fresh request then holds the key's
-- lock until the transaction ends. For another request it returns the stored answer (reused says that it answers another body), or none while a request
-- with the key is in progress. It does not wait for locks, because their holders may only be replaying an answer.
--
-- The answers are looked up in a separate statement after the locks: a statement that began before a lock would not see an answer committed in between.
-- Each is looked up by its key alone, not in a join: then only the primary key's index fits, whatever the table was when the plan was made. scopes are
-- the numbers of the locks.
create function claim_idempotency_keys(
  tenant bigint, asked_method text, asked_path text, scopes bigint[], keys text[], fingerprints bytea[], times timestamptz[]
)
returns table (key text, fingerprint bytea, at timestamptz, fresh boolean, reused boolean, status smallint, location text, body bytea)
language plpgsql as $$
declare
  locked boolean[] := array(select pg_try_advisory_xact_lock(scope) from unnest(scopes) with ordinality s (scope, place) order by place);
begin
  return query
    select asked.key, asked.fingerprint, asked.at, locked[place] and stored.fingerprint is null, stored.fingerprint <> asked.fingerprint,
           stored.status, stored.location::text, stored.body
    from unnest(keys, fingerprints, times) with ordinality asked (key, fingerprint, at, place)
    left join lateral (
      select k.* from idempotency_keys k
      where k.tenant_id = tenant and k.method = asked_method and k.path = asked_path and k.key = asked.key offset 0
    ) stored on stored.expires_at > asked.at
    order by place;
end $$;
grant execute on function claim_idempotency_keys to petstore_api;
