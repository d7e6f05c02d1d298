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
	"petstore.example/internal/plans"
)

const (
	directoryRounds, directoryBatch = 9, 20_000
	// maxCallerBytes is the most memory that a caller may take.
	maxCallerBytes = 400
)

// holding is a directory with many callers.
type holding struct {
	*keys.Directory
	tokens []string
	// bytes is what one caller takes of the heap, resident what the process took of the machine with it in MB.
	bytes, resident float64
	took            []float64 // ns, of each round
}

func directory(ctx context.Context, g *ground) (*table, error) {
	t := &table{
		title: "Callers in memory",
		about: "What every further request with a key costs: reading the key and checking its checksum, its SHA-256, and finding the caller in the directory. Ten keys a " +
			"tenant. *Held* is how many the directory keeps of them; the others are looked up again, and what that costs is left out. " +
			fmt.Sprintf("Medians of %d rounds of %s look-ups of keys drawn at random from those held, all sizes in turn.", directoryRounds, grouped(directoryBatch)),
		head: []string{"keys", "held", "look-up ns", "bytes a caller", "resident MB"},
	}
	var all []*holding
	for _, n := range g.upTo(1_000, 10_000, 100_000, 1_000_000) {
		h, err := newHolding(ctx, n)
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
		t.add(grouped(int64(len(h.tokens))), grouped(int64(h.Len())), figure(took), figure(h.bytes), figure(h.resident))
	}
	t.growth("look-up", figures, maxLookUpGrowth)
	t.bound("bytes a caller", worst, maxCallerBytes)
	return t, nil
}

func newHolding(ctx context.Context, n int) (*holding, error) {
	h := &holding{tokens: make([]string, n)}
	for i := range h.tokens {
		token, err := keys.NewToken(keys.Live)
		if err != nil {
			return nil, err
		}
		h.tokens[i] = token.Reveal()
	}
	before := heap()
	h.Directory = keys.NewDirectory(manyCallers{tenants: uint64(max(1, n/keysOfTenant))}, keys.Live, time.Now)
	h.FeedRestored()
	for _, token := range h.tokens {
		if err := h.meet(ctx, token); err != nil {
			return nil, err
		}
	}
	h.bytes = (heap() - before) / float64(h.Len())
	var err error
	h.resident, err = resident()
	return h, err
}

// meet looks a key up for the first time. On a busy machine the directory may give up on its store: it is asked again.
func (h *holding) meet(ctx context.Context, text string) (err error) {
	for range 10 {
		if err = h.lookUp(ctx, text); !errors.Is(err, keys.ErrUnavailable) {
			return err
		}
		time.Sleep(300 * time.Millisecond)
	}
	return err
}

func (h *holding) lookUp(ctx context.Context, text string) error {
	token, err := keys.ParseToken(text)
	if err != nil {
		return err
	}
	_, err = h.Lookup(ctx, token)
	return err
}

// round looks up a batch of keys. They are copied beside each other before, as a request's key is warm when it was just read.
func (h *holding) round(ctx context.Context) error {
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

// manyCallers is a store that knows every key: whose it is follows from its digest.
type manyCallers struct{ tenants uint64 }

func (s manyCallers) Caller(_ context.Context, d keys.Digest, now time.Time) (keys.Caller, error) {
	tenant := binary.BigEndian.Uint64(d[:8]) % s.tenants
	return keys.Caller{
		KeyID: "key_" + hex.EncodeToString(d[:8]), Environment: keys.Environment(strings.Clone(string(keys.Live))),
		Tenant: &plans.Tenant{
			ID: int64(tenant) + 1, Name: "tenant-" + strconv.FormatUint(tenant, 10), Plan: strings.Clone(plans.Business),
			Quota: plans.Quota{PerMinute: 1_000, PerDay: 100_000}, CreatedAt: now.Truncate(24 * time.Hour),
		},
	}, nil
}

// heap returns how many bytes are in use after a collection.
func heap() float64 {
	runtime.GC()
	runtime.GC() // what the first one finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// resident returns how much memory the process takes, in MB.
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
