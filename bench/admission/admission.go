// Package admission measures, without HTTP, what happens before a request's handler: parsing the key and checking its checksum,
// finding the caller in the directory, and counting in all windows.
package admission

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"petstore.example/bench/limitcluster"
	"petstore.example/bench/report"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// MaxAllocations bounds the allocations of admitting a request in memory.
const MaxAllocations = 4

// Gate is a directory with one caller, and a limiter.
type Gate struct {
	directory *callers.Directory
	limiter   limits.Limiter
	key       string
}

// NewGate returns a gate whose caller is already in the directory, as after a first request.
func NewGate(l limits.Limiter) (*Gate, error) {
	token, err := keys.NewToken(keys.Live)
	if err != nil {
		return nil, err
	}
	g := &Gate{directory: callers.NewDirectory(Callers{Tenants: 1}, keys.Live, time.Now), limiter: l, key: token.Reveal()}
	g.directory.FeedProven(time.Now().Add(24 * time.Hour)) // The feed works all the time.
	return g, g.Admit(context.Background())
}

// Admit admits one request.
func (g *Gate) Admit(ctx context.Context) error {
	token, err := keys.ParseToken(g.key)
	if err != nil {
		return err
	}
	caller, err := g.directory.Lookup(ctx, token)
	if err != nil {
		return err
	}
	claim := limits.Claim{TenantID: caller.Tenant.ID, KeyID: caller.KeyID, Quota: caller.Tenant.Quota}
	if !g.limiter.Take(ctx, claim, time.Now()).Admitted {
		return errors.New("the request was refused")
	}
	return nil
}

// Callers is a store that knows every key, of so many tenants. The tenant follows from the digest.
type Callers struct{ Tenants uint64 }

// Callers implements callers.Store.
func (s Callers) Callers(_ context.Context, digests []keys.Digest, now time.Time) ([]keys.Caller, error) {
	found := make([]keys.Caller, len(digests))
	for i, d := range digests {
		tenant := binary.BigEndian.Uint64(d[:8]) % s.Tenants
		found[i] = keys.Caller{
			KeyID: "key_" + hex.EncodeToString(d[:8]), Environment: keys.Environment(strings.Clone(string(keys.Live))),
			Tenant: &plans.Tenant{
				ID: int64(tenant) + 1, Name: "tenant-" + strconv.FormatUint(tenant, 10), Plan: strings.Clone(plans.Enterprise),
				Quota: plans.Quota{PerMinute: 1e12, PerDay: 1e15}, CreatedAt: now.Truncate(24 * time.Hour),
			},
		}
	}
	return found, nil
}

// setting is a limiter and how to measure it.
type setting struct {
	name    string
	maxP99  time.Duration
	callers int // concurrent
	each    int // samples per caller
}

// Measure measures admission in memory, and with Redis for one caller and for 16 concurrent ones.
// The database has a tenant.
func Measure(ctx context.Context, databaseURL, redisURL string) (all []report.Admission, err error) {
	var l limits.Limiter = limits.NewMemory()
	for i, s := range []setting{
		{"memory", 50 * time.Microsecond, 1, 200_000},
		{"Redis", time.Millisecond, 1, 20_000},
		{"Redis, 16 concurrent callers", time.Millisecond, 16, 5_000},
	} {
		if i == 1 { // Until now nothing else allocates.
			var server *limitcluster.Server
			if server, err = (&limitcluster.Deployment{DatabaseURL: databaseURL, RedisURL: redisURL, Log: zerolog.Nop()}).Join(ctx, "bench"); err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, server.TearDown(ctx)) }()
			for t, ok := server.Member.Term(); ctx.Err() == nil && (!ok || t.Redis == ""); t, ok = server.Member.Term() {
				time.Sleep(time.Millisecond)
			}
			l = server
		}
		a, err := measure(ctx, l, s)
		if err != nil {
			return nil, fmt.Errorf("admission in %s: %w", s.name, err)
		}
		all = append(all, a)
	}
	return all, nil
}

func measure(ctx context.Context, l limits.Limiter, s setting) (a report.Admission, err error) {
	g, err := NewGate(l)
	if err != nil {
		return a, err
	}
	latencies := make([][]time.Duration, s.callers)
	all, ctx := errgroup.WithContext(ctx)
	for i := range latencies {
		all.Go(func() (err error) {
			latencies[i], err = g.samples(ctx, s.each)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return a, err
	}
	sorted := slices.Concat(latencies...)
	slices.Sort(sorted)
	n := len(sorted)
	allocations := testing.AllocsPerRun(1000, func() { err = g.Admit(context.Background()) })
	return report.Admission{
		Name: s.name, Samples: n, P50: sorted[n/2], P99: sorted[n*99/100], MaxP99: s.maxP99, Allocations: allocations,
	}, err
}

func (g *Gate) samples(ctx context.Context, n int) ([]time.Duration, error) {
	latencies := make([]time.Duration, n)
	for i := range latencies {
		start := time.Now()
		if err := g.Admit(ctx); err != nil {
			return nil, err
		}
		latencies[i] = time.Since(start)
	}
	return latencies, nil
}
