package admission

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"petstore.example/bench/limitcluster"
	"petstore.example/bench/report"
	"petstore.example/internal/limits"
)

// setting is a limiter and how to measure it.
type setting struct {
	name    string
	maxP99  time.Duration
	callers int // concurrent
	each    int // samples per caller
}

// Measure measures admission in memory, and with Redis for one caller and for 16 concurrent ones.
func Measure(ctx context.Context, redisURL string) (all []report.Admission, err error) {
	var l limits.Limiter = limits.NewMemory()
	for i, s := range []setting{
		{"memory", 50 * time.Microsecond, 1, 200_000},
		{"Redis", time.Millisecond, 1, 20_000},
		{"Redis, 16 concurrent callers", time.Millisecond, 16, 5_000},
	} {
		if i == 1 { // Until now nothing else allocates.
			var leave func()
			if l, leave, err = limitcluster.New(redisURL).Join(ctx); err != nil {
				return nil, err
			}
			defer leave()
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
