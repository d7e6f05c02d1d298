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
	// maxLookUpGrowth is how many times as long a look-up among the most keys may take as among the fewest.
	maxLookUpGrowth = 1.5
	keysOfTenant    = 10
)

// keyring is a database with many keys.
type keyring struct {
	n    int
	url  string
	took []time.Duration // medians of the rounds
}

func lookUps(ctx context.Context, g *ground) (*table, error) {
	t := &table{
		title: "Keys in PostgreSQL",
		about: "What the first request with a key costs: the look-up of whose it is, with its tenant, plan and ban, in `store.Keys.Caller`. Ten keys a tenant. " +
			fmt.Sprintf("Every size has a database of its own; medians of %d rounds of %d look-ups of keys drawn at random on a new connection, all sizes in a new order each round.", lookUpRounds, lookUpQueries),
		head: []string{"keys", "look-up µs"},
	}
	var all []*keyring
	for _, n := range g.upTo(1_000, 10_000, 100_000, 1_000_000) {
		g.say("making %s keys", grouped(int64(n)))
		k, err := newKeyring(ctx, g, n)
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
		t.add(grouped(int64(k.n)), figure(took))
	}
	t.growth("look-up", figures, maxLookUpGrowth)
	return t, nil
}

func newKeyring(ctx context.Context, g *ground, n int) (*keyring, error) {
	url, err := g.postgres.CreateDatabase(ctx, fmt.Sprintf("keys_%d", n))
	if err != nil {
		return nil, err
	}
	if err := fillKeys(ctx, url, n, keysOfTenant); err != nil {
		return nil, fmt.Errorf("make %d keys: %w", n, err)
	}
	return &keyring{n: n, url: url}, nil
}

// fillKeys makes so many keys; key i is that of the digest digestOf(i), named keyID(i), of tenant i/each+1.
func fillKeys(ctx context.Context, url string, n, each int) error {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `
		insert into tenants (id, name, plan, created_at) overriding system value
		select i, 'tenant-' || i, 'business', now() from generate_series(1, $1::bigint) as i`, (n+each-1)/each)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_' || lpad(i::text, 16, '0'), i / $2 + 1, 'live', sha256(convert_to(i::text, 'UTF8')), 'abcd', now()
		from generate_series(0, $1::bigint - 1) as i`, n, each)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "vacuum analyze")
	return err
}

func digestOf(i int) keys.Digest { return sha256.Sum256([]byte(fmt.Sprint(i))) }

func keyID(i int) string { return fmt.Sprintf("key_%016d", i) }

// round looks keys up on a connection of its own: where the system places one may double what its answers take, for as long as it lives.
func (k *keyring) round(ctx context.Context) (err error) {
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
			return fmt.Errorf("key %d is taken for %s", i, c.KeyID)
		}
	}
	k.took = append(k.took, median(took))
	return nil
}
