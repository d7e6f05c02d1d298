package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"time"

	"petstore.example/bench/must"
	"petstore.example/bench/servers"
	"petstore.example/internal/store"
)

const (
	// maxLookUpGrowth bounds a look-up among the most keys as a multiple of one among the fewest.
	maxLookUpGrowth = 1.5
	keysPerTenant   = 10
)

var lookUpRounds = rounds{count: 21, perConnection: 1, warmUp: 20, operations: 200}

func lookUps(ctx context.Context, e *env) *table {
	t := &table{
		title: "Keys in PostgreSQL",
		about: "The cost of the first request with a key: the look-up of its tenant, plan and ban in " +
			"`store.Keys.Caller`. Ten keys per tenant. " +
			fmt.Sprintf(
				"Every size has a database of its own. Medians of %d rounds of %d look-ups of random keys on a new "+
					"connection; each round measures the sizes in a new order.",
				lookUpRounds.count,
				lookUpRounds.operations,
			),
		head: []string{"keys", "look-up µs"},
	}
	var all []*sample
	for _, n := range e.upTo(1_000, 10_000, 100_000, 1_000_000) {
		url := e.database(ctx, "keys", n)
		fillKeys(ctx, url, n, keysPerTenant)
		all = append(all, &sample{n: n, connect: func() ([]func() time.Duration, func()) {
			db := must.Get(store.Open(ctx, url, store.Options{AsAPI: true, MaxConns: 1, Timeout: time.Minute}))
			return []func() time.Duration{
				func() time.Duration { return lookUp(ctx, db, rand.IntN(n)) },
			}, func() { must.Do(db.Close()) }
		}})
	}
	lookUpRounds.measure(all)
	t.addSamples(all, time.Microsecond, maxLookUpGrowth, "look-up")
	return t
}

// lookUp returns how long it takes to find a key of fillKeys.
func lookUp(ctx context.Context, db *store.DB, i int) time.Duration {
	digest := sha256.Sum256([]byte(fmt.Sprint(i)))
	start := time.Now()
	caller := must.Get(db.Keys.Caller(ctx, digest, start))
	took := time.Since(start)
	if caller.KeyID != keyID(i) {
		must.Do(fmt.Errorf("key %d is found as %s", i, caller.KeyID))
	}
	return took
}

// fillKeys inserts n keys: key i has the digest of its number, the ID keyID(i), and the tenant
// i/perTenant+1.
func fillKeys(ctx context.Context, url string, n, perTenant int) {
	must.Do(servers.Exec(ctx, url, fmt.Sprintf(`
		with audited as materialized (select set_config('petstore.audited', 'on', true)), t as (
		  insert into tenants (id, name, created_at) overriding system value
		  select i, 'tenant-' || i, now() from audited, generate_series(1, %d) as i returning id
		)
		insert into tenant_plans (tenant_id, plan) select id, 'business' from t`, (n+perTenant-1)/perTenant),
		fmt.Sprintf(`
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_' || lpad(i::text, 16, '0'), i / %d + 1, 'live', sha256(convert_to(i::text, 'UTF8')), 'abcd', now()
		from generate_series(0, %d - 1) as i`, perTenant, n),
		"vacuum analyze"))
}

func keyID(i int) string { return fmt.Sprintf("key_%016d", i) }
