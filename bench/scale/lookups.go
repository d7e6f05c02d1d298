package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

const (
	lookUpRounds, lookUpWarmUp, lookUpQueries = 21, 20, 200
	// maxLookUpGrowth bounds a look-up among the most keys as a multiple of one among the fewest.
	maxLookUpGrowth = 1.5
	keysPerTenant   = 10
)

// keyDatabase is a database with n keys.
type keyDatabase struct {
	n    int
	url  string
	took []time.Duration // medians of the rounds
}

func lookUps(ctx context.Context, e *env) (*table, error) {
	t := &table{
		title: "Keys in PostgreSQL",
		about: "The cost of the first request with a key: the look-up of its tenant, plan and ban in `store.Keys.Caller`. Ten keys per tenant. " +
			fmt.Sprintf("Every size has a database of its own. Medians of %d rounds of %d look-ups of random keys on a new connection; each round measures the sizes in a new order.", lookUpRounds, lookUpQueries),
		head: []string{"keys", "look-up µs"},
	}
	var all []*keyDatabase
	for _, n := range e.upTo(1_000, 10_000, 100_000, 1_000_000) {
		e.logf("making %s keys", withCommas(int64(n)))
		k, err := newKeyDatabase(ctx, e, n)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	for range lookUpRounds {
		for _, i := range rand.Perm(len(all)) {
			if err := all[i].round(ctx); err != nil {
				return nil, err
			}
		}
	}
	var figures []float64
	for _, k := range all {
		took := micros(median(k.took))
		figures = append(figures, took)
		t.add(withCommas(int64(k.n)), significant(took))
	}
	t.growth("look-up", figures, maxLookUpGrowth)
	return t, nil
}

func newKeyDatabase(ctx context.Context, e *env, n int) (*keyDatabase, error) {
	url, err := e.postgres.CreateDatabase(ctx, fmt.Sprintf("keys_%d", n))
	if err != nil {
		return nil, err
	}
	if err := fillKeys(ctx, url, n, keysPerTenant); err != nil {
		return nil, fmt.Errorf("make %d keys: %w", n, err)
	}
	return &keyDatabase{n: n, url: url}, nil
}

// fillKeys inserts n keys: key i has the digest digestOf(i), the ID keyID(i), and the tenant i/perTenant+1.
func fillKeys(ctx context.Context, url string, n, perTenant int) error {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `
		with audited as materialized (select set_config('petstore.audited', 'on', true)), t as (
		  insert into tenants (id, name, created_at) overriding system value
		  select i, 'tenant-' || i, now() from audited, generate_series(1, $1::bigint) as i returning id
		)
		insert into tenant_plans (tenant_id, plan) select id, 'business' from t`, (n+perTenant-1)/perTenant)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_' || lpad(i::text, 16, '0'), i / $2 + 1, 'live', sha256(convert_to(i::text, 'UTF8')), 'abcd', now()
		from generate_series(0, $1::bigint - 1) as i`, n, perTenant)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "vacuum analyze")
	return err
}

func digestOf(i int) keys.Digest { return sha256.Sum256([]byte(fmt.Sprint(i))) }

func keyID(i int) string { return fmt.Sprintf("key_%016d", i) }

// round looks up keys on a new connection: the placement of a connection in memory may double its latencies.
func (k *keyDatabase) round(ctx context.Context) (err error) {
	db, err := store.Open(ctx, k.url, store.Options{AsAPI: true, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var took []time.Duration
	for q := range lookUpWarmUp + lookUpQueries {
		i := rand.IntN(k.n)
		digest := digestOf(i)
		start := time.Now()
		c, err := db.Keys.Caller(ctx, digest, start)
		if d := time.Since(start); q >= lookUpWarmUp {
			took = append(took, d)
		}
		if err != nil {
			return err
		}
		if c.KeyID != keyID(i) {
			return fmt.Errorf("key %d is found as %s", i, c.KeyID)
		}
	}
	k.took = append(k.took, median(took))
	return nil
}
