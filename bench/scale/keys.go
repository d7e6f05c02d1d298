package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"petstore.example/bench/must"
	"petstore.example/bench/servers"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

const (
	keysPerTenant = 10
	keyRounds     = 21
	// Each round looks up stored keys in PostgreSQL and held keys in memory.
	stored, held = 200, 20_000
)

// keySize is the measurement with n keys.
type keySize struct {
	n             int
	url           string
	directory     *callers.Directory
	tokens        []string
	bytes         float64 // heap for each caller
	first, others []time.Duration
}

func keysPart(ctx context.Context, e *env) *table {
	t := &table{head: []string{"keys", "in PostgreSQL µs", "in memory ns", "bytes per caller"}}
	var all []*keySize
	for _, n := range e.upTo(1_000, 10_000, 100_000, 1_000_000) {
		s := &keySize{n: n, url: e.database(ctx, "keys", n)}
		fillKeys(ctx, s.url, n, keysPerTenant)
		s.fillDirectory(ctx)
		all = append(all, s)
	}
	for range keyRounds {
		for _, i := range rand.Perm(len(all)) {
			all[i].lookUp(ctx)
		}
	}
	for _, s := range all {
		first, others := spread(s.first, time.Microsecond), spread(s.others, time.Nanosecond)
		t.add(withCommas(s.n), first, others, significant(s.bytes))
	}
	return t
}

// lookUp measures one round.
func (s *keySize) lookUp(ctx context.Context) {
	db := must.Get(store.Open(ctx, s.url, store.Options{AsAPI: true, MaxConns: 1, Timeout: time.Minute}))
	find := func(i int) {
		caller := must.Get(db.Keys.Caller(ctx, sha256.Sum256([]byte(strconv.Itoa(i))), time.Now()))
		if caller.KeyID != keyID(i) {
			must.Do(fmt.Errorf("key %d is found as %s", i, caller.KeyID))
		}
	}
	for range stored / 10 {
		find(rand.IntN(s.n)) // The first call connects, and prepares the statement.
	}
	took := make([]time.Duration, stored)
	for i := range took {
		start := time.Now()
		find(rand.IntN(s.n))
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	s.first = append(s.first, took[stored/2])
	must.Do(db.Close())

	// The keys are next to each other, because the key of a real request is in the CPU cache.
	batch := make([]string, held)
	for i := range batch {
		batch[i] = strings.Clone(s.tokens[rand.IntN(s.n)])
	}
	start := time.Now()
	for _, text := range batch {
		must.Get(s.directory.Lookup(ctx, must.Get(keys.ParseToken(text))))
	}
	s.others = append(s.others, time.Since(start)/held)
}

// fillDirectory makes a directory that has looked up all keys.
func (s *keySize) fillDirectory(ctx context.Context) {
	for range s.n {
		token := must.Get(keys.NewToken(keys.Live))
		s.tokens = append(s.tokens, token.Reveal())
	}
	before := heap()
	s.directory = callers.NewDirectory(allCallers{uint64(max(1, s.n/keysPerTenant))}, keys.Live, time.Now)
	s.directory.FeedProven(time.Now().Add(24 * time.Hour)) // as if the feed always worked
	for _, text := range s.tokens {
		err := keys.ErrUnavailable
		for try := 0; errors.Is(err, keys.ErrUnavailable) && try < 10; try++ {
			time.Sleep(time.Duration(try) * 100 * time.Millisecond) // On a busy machine a look-up may time out.
			_, err = s.directory.Lookup(ctx, must.Get(keys.ParseToken(text)))
		}
		must.Do(err)
	}
	s.bytes = (heap() - before) / float64(s.directory.Len())
}

// allCallers is a store that knows every key, for that many tenants. The digest determines the
// tenant.
type allCallers struct{ tenants uint64 }

// Callers implements callers.Store.
func (s allCallers) Callers(_ context.Context, digests []keys.Digest, now time.Time) ([]keys.Caller, error) {
	found := make([]keys.Caller, len(digests))
	for i, d := range digests {
		tenant := binary.BigEndian.Uint64(d[:8]) % s.tenants
		found[i] = keys.Caller{
			KeyID:       "key_" + hex.EncodeToString(d[:8]),
			Environment: keys.Environment(strings.Clone("live")),
		}
		found[i].Tenant = &plans.Tenant{
			ID: int64(
				tenant,
			) + 1,
			Name:      "tenant-" + strconv.FormatUint(tenant, 10),
			Plan:      strings.Clone(plans.Enterprise),
			Quota:     plans.Quota{PerMinute: 1e12, PerDay: 1e15},
			CreatedAt: now.Truncate(24 * time.Hour),
		}
	}
	return found, nil
}

// heap returns the bytes in use after a garbage collection.
func heap() float64 {
	runtime.GC()
	runtime.GC() // frees what the first GC finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// fillKeys inserts n keys. Key i has the digest of its number, the ID keyID(i), and the tenant
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
