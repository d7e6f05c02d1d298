package admission

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"petstore.example/bench/limits"
	"petstore.example/bench/report"
	"petstore.example/internal/plans"
)

// setting is one way to count, and how much of it is measured.
type setting struct {
	name    string
	aim     time.Duration
	callers int // at the same time
	each    int // samples
}

// Measure measures admission in memory and over the Redis of that URL: alone, and with 16 callers at the same time.
func Measure(ctx context.Context, redisURL string) ([]report.Admission, error) {
	memory, err := measure(ctx, plans.NewMemory(), setting{"memory", 50 * time.Microsecond, 1, 200_000})
	if err != nil {
		return nil, err
	}
	shared, leave, err := limits.NewCluster(redisURL).Join(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	alone, err := measure(ctx, shared, setting{"Redis", time.Millisecond, 1, 20_000})
	if err != nil {
		return nil, err
	}
	together, err := measure(ctx, shared, setting{"Redis, 16 callers at once", time.Millisecond, 16, 5_000})
	return []report.Admission{memory, alone, together}, err
}

func measure(ctx context.Context, l plans.Limiter, s setting) (a report.Admission, err error) {
	g, err := NewGate(l)
	if err != nil {
		return a, fmt.Errorf("admission in %s: %w", s.name, err)
	}
	took := make([][]time.Duration, s.callers)
	all, ctx := errgroup.WithContext(ctx)
	for i := range took {
		all.Go(func() (err error) {
			took[i], err = g.samples(ctx, s.each)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return a, fmt.Errorf("admission in %s: %w", s.name, err)
	}
	sorted := slices.Concat(took...)
	slices.Sort(sorted)
	n := len(sorted)
	allocations := testing.AllocsPerRun(1000, func() { err = g.Admit(context.Background()) })
	return report.Admission{
		Name: s.name, Samples: n, P50: sorted[n/2], P99: sorted[n*99/100], Aim: s.aim, Allocations: allocations,
	}, err
}

func (g *Gate) samples(ctx context.Context, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		if err := g.Admit(ctx); err != nil {
			return nil, err
		}
		took[i] = time.Since(start)
	}
	return took, nil
}
