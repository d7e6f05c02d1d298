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

	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/plans"
)

const (
	directoryRounds, directoryBatch = 9, 20_000
	// maxCallerBytes bounds the memory per caller.
	maxCallerBytes = 400
)

// fullDirectory is a directory with many callers.
type fullDirectory struct {
	*callers.Directory
	tokens []string
	// bytes is the heap per caller; resident is the resident memory of the process in MB.
	bytes, resident float64
	took            []float64 // ns, by round
}

func directory(ctx context.Context, e *env) (*table, error) {
	t := &table{
		title: "Callers in memory",
		about: "The cost of every request after the first with a key: parsing the key and checking its checksum, its SHA-256, and finding the caller in the directory. Ten " +
			"keys per tenant. *Held* is how many of them the directory keeps; the cost of looking up the others again is not included. " +
			fmt.Sprintf("Medians of %d rounds of %s look-ups of random keys that are held; each round measures all sizes.", directoryRounds, withCommas(directoryBatch)),
		head: []string{"keys", "held", "look-up ns", "bytes per caller", "resident MB"},
	}
	var all []*fullDirectory
	for _, n := range e.upTo(1_000, 10_000, 100_000, 1_000_000) {
		h, err := newFullDirectory(ctx, n)
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	for range directoryRounds {
		for _, h := range all {
			if err := h.round(ctx); err != nil {
				return nil, err
			}
		}
	}
	var figures []float64
	worst := 0.0
	for _, h := range all {
		took := median(h.took)
		figures, worst = append(figures, took), max(worst, h.bytes)
		t.add(withCommas(int64(len(h.tokens))), withCommas(int64(h.Len())), significant(took), significant(h.bytes), significant(h.resident))
	}
	t.growth("look-up", figures, maxLookUpGrowth)
	t.bound("bytes per caller", worst, maxCallerBytes)
	return t, nil
}

func newFullDirectory(ctx context.Context, n int) (*fullDirectory, error) {
	h := &fullDirectory{tokens: make([]string, n)}
	for i := range h.tokens {
		token, err := keys.NewToken(keys.Live)
		if err != nil {
			return nil, err
		}
		h.tokens[i] = token.Reveal()
	}
	before := heap()
	h.Directory = callers.NewDirectory(manyCallers{tenants: uint64(max(1, n/keysPerTenant))}, keys.Live, time.Now)
	h.FeedProven(time.Now().Add(24 * time.Hour)) // The feed works all the time.
	for _, token := range h.tokens {
		if err := h.addCaller(ctx, token); err != nil {
			return nil, err
		}
	}
	h.bytes = (heap() - before) / float64(h.Len())
	var err error
	h.resident, err = resident()
	return h, err
}

// addCaller looks up a key for the first time. On a busy machine the look-up may time out: it is repeated.
func (h *fullDirectory) addCaller(ctx context.Context, text string) (err error) {
	for range 10 {
		if err = h.lookUp(ctx, text); !errors.Is(err, keys.ErrUnavailable) {
			return err
		}
		time.Sleep(300 * time.Millisecond)
	}
	return err
}

func (h *fullDirectory) lookUp(ctx context.Context, text string) error {
	token, err := keys.ParseToken(text)
	if err != nil {
		return err
	}
	_, err = h.Lookup(ctx, token)
	return err
}

// round looks up a batch of keys. They are copied next to each other first, because the key of a real request is in the CPU cache.
func (h *fullDirectory) round(ctx context.Context) error {
	batch := make([]string, directoryBatch)
	for i := range batch {
		batch[i] = strings.Clone(h.tokens[rand.IntN(len(h.tokens))])
	}
	start := time.Now()
	for _, token := range batch {
		if err := h.lookUp(ctx, token); err != nil {
			return err
		}
	}
	h.took = append(h.took, float64(time.Since(start))/directoryBatch)
	return nil
}

// manyCallers is a store that knows every key; the tenant follows from the digest.
type manyCallers struct{ tenants uint64 }

func (s manyCallers) Callers(_ context.Context, digests []keys.Digest, now time.Time) ([]keys.Caller, error) {
	found := make([]keys.Caller, len(digests))
	for i := range digests {
		found[i] = s.caller(&digests[i], now)
	}
	return found, nil
}

func (s manyCallers) caller(d *keys.Digest, now time.Time) keys.Caller {
	tenant := binary.BigEndian.Uint64(d[:8]) % s.tenants
	return keys.Caller{
		KeyID: "key_" + hex.EncodeToString(d[:8]), Environment: keys.Environment(strings.Clone(string(keys.Live))),
		Tenant: &plans.Tenant{
			ID: int64(tenant) + 1, Name: "tenant-" + strconv.FormatUint(tenant, 10), Plan: strings.Clone(plans.Business),
			Quota: plans.Quota{PerMinute: 1_000, PerDay: 100_000}, CreatedAt: now.Truncate(24 * time.Hour),
		},
	}
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
func resident() (float64, error) {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()) / 1e6, err
}
