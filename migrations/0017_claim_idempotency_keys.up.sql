-- claim_idempotency_keys says of each of several keys of one endpoint, in their order, whether its request is fresh: then it holds the key's lock, which
-- ends with the transaction. Others have the answer that is stored, which is reused if it is to another body, or none while a request with the key is
-- in progress: a lock is not waited for, and its holder may only be replaying an answer. The answers are looked up by a statement of their own, after
-- the locks: a statement that began before a lock would not see an answer that was committed in between. Each is looked up by its key alone, and as
-- no join: then the only index that fits is that of the primary key, whatever the table was when the plan was made. scopes are the numbers of the locks.
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
