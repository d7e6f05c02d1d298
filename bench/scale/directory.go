package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"petstore.example/bench/must"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/plans"
)

const (
	directoryBatch = 20_000
	// maxCallerBytes bounds the memory per caller.
	maxCallerBytes = 400
)

var directoryRounds = rounds{count: 9, perConnection: 9, operations: 1}

func directory(ctx context.Context, e *env) *table {
	t := &table{
		title: "Callers in memory",
		about: "The cost of every request after the first with a key: parsing the key and checking its checksum, " +
			"its SHA-256, and finding the caller in the directory. Ten " +
			"keys per tenant. *Held* is how many of them the directory keeps; the cost of looking up the others " +
			"again is not included. " +
			fmt.Sprintf(
				"Medians of %d rounds of %s look-ups of random keys that are held; each round measures all sizes.",
				directoryRounds.count,
				withCommas(directoryBatch),
			),
		head: []string{"keys", "held", "look-up ns", "bytes per caller", "resident MB"},
	}
	var all []*sample
	worst := 0.0
	for _, n := range e.upTo(1_000, 10_000, 100_000, 1_000_000) {
		d, tokens, bytes := newFullDirectory(ctx, n)
		worst = max(worst, bytes)
		all = append(
			all,
			&sample{
				n:     n,
				cells: []string{withCommas(int64(d.Len()))},
				last:  []string{significant(bytes), significant(resident())},
				connect: func() ([]func() time.Duration, func()) {
					return []func() time.Duration{
						func() time.Duration { return lookUpBatch(ctx, d, tokens) },
					}, func() {}
				},
			},
		)
	}
	directoryRounds.measure(all)
	t.addSamples(all, time.Nanosecond, maxLookUpGrowth, "look-up")
	t.bound("bytes per caller", worst, maxCallerBytes)
	return t
}

// newFullDirectory returns a directory that has looked up n keys, and its heap per caller.
func newFullDirectory(ctx context.Context, n int) (d *callers.Directory, tokens []string, bytes float64) {
	tokens = make([]string, n)
	for i := range tokens {
		token := must.Get(keys.NewToken(keys.Live))
		tokens[i] = token.Reveal()
	}
	before := heap()
	d = callers.NewDirectory(allCallers{uint64(max(1, n/keysPerTenant))}, keys.Live, time.Now)
	d.FeedProven(time.Now().Add(24 * time.Hour)) // The feed works all the time.
	for _, token := range tokens {
		err := keys.ErrUnavailable
		// On a busy machine a look-up may time out.
		for try := 0; errors.Is(err, keys.ErrUnavailable) && try < 10; try++ {
			time.Sleep(time.Duration(try) * 100 * time.Millisecond)
			_, err = d.Lookup(ctx, must.Get(keys.ParseToken(token)))
		}
		must.Do(err)
	}
	return d, tokens, (heap() - before) / float64(d.Len())
}

// allCallers is a store that knows every key, of so many tenants. The tenant follows from the
// digest.
type allCallers struct{ tenants uint64 }

// Callers implements callers.Store.
func (s allCallers) Callers(_ context.Context, digests []keys.Digest, now time.Time) ([]keys.Caller, error) {
	found := make([]keys.Caller, len(digests))
	for i, d := range digests {
		tenant := binary.BigEndian.Uint64(d[:8]) % s.tenants
		found[i] = keys.Caller{
			KeyID: "key_" + hex.EncodeToString(d[:8]), Environment: keys.Environment(strings.Clone(string(keys.Live))),
			Tenant: &plans.Tenant{
				ID:        int64(tenant) + 1,
				Name:      "tenant-" + strconv.FormatUint(tenant, 10),
				Plan:      strings.Clone(plans.Enterprise),
				Quota:     plans.Quota{PerMinute: 1e12, PerDay: 1e15},
				CreatedAt: now.Truncate(24 * time.Hour),
			},
		}
	}
	return found, nil
}

// lookUpBatch returns the time of one look-up of a batch. The keys are copied next to each other
// first, because the key of a real request is in the CPU cache.
func lookUpBatch(ctx context.Context, d *callers.Directory, tokens []string) time.Duration {
	batch := make([]string, directoryBatch)
	for i := range batch {
		batch[i] = strings.Clone(tokens[rand.IntN(len(tokens))])
	}
	start := time.Now()
	for _, text := range batch {
		token, err := keys.ParseToken(text)
		if err == nil {
			_, err = d.Lookup(ctx, token)
		}
		must.Do(err)
	}
	return time.Since(start) / directoryBatch
}

// heap returns the bytes in use after a garbage collection.
func heap() float64 {
	runtime.GC()
	runtime.GC() // for what the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// resident returns the resident memory of the process in MB.
func resident() float64 {
	debug.FreeOSMemory()
	var size, pages int64
	must.Get(fmt.Sscan(string(must.Get(os.ReadFile("/proc/self/statm"))), &size, &pages))
	return float64(pages) * float64(os.Getpagesize()) / 1e6
}
