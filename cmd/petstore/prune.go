package main

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/usage"
)

const (
	pruneEvery = time.Minute
	// pruneAtOnce keeps each step short: a request that writes over an expired key waits for it.
	pruneAtOnce = 500
	// keyLimitAge is more than servers' clocks can differ.
	keyLimitAge = 10 * time.Minute
)

// pruner removes what is kept for a time only. Each method removes at most limit and returns how many.
type pruner interface {
	// PruneIdempotencyKeys removes those that have expired at now.
	PruneIdempotencyKeys(ctx context.Context, now time.Time, limit int) (int, error)
	// PruneRefusals removes those of before that instant.
	PruneRefusals(ctx context.Context, before time.Time, limit int) (int, error)
	// PruneKeyLimits removes what is kept of minutes that were over at that instant.
	PruneKeyLimits(ctx context.Context, before time.Time, limit int) (int, error)
}

// startPruning removes what has expired every minute until stop is called.
func startPruning(db pruner, log zerolog.Logger) (stop func()) {
	tick := time.NewTicker(pruneEvery)
	end := background(log, "remove what has expired", pruning(db, tick.C, log))
	return func() {
		end()
		tick.Stop()
	}
}

// pruning returns the work of removing what has expired, now and at every tick until its context ends. What fails is
// tried again at the next tick: the rows are only in the way of the disk.
func pruning(db pruner, tick <-chan time.Time, log zerolog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			if err := pruneAll(ctx, db); err != nil && ctx.Err() == nil {
				log.Warn().Err(err).Msg("remove what has expired")
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick:
			}
		}
	}
}

func pruneAll(ctx context.Context, db pruner) error {
	now := time.Now()
	return errors.Join(
		prune(ctx, db.PruneIdempotencyKeys, now),
		prune(ctx, db.PruneRefusals, now.Add(-usage.RefusalAge)),
		prune(ctx, db.PruneKeyLimits, now.Add(-keyLimitAge)),
	)
}

// prune goes on until fewer are left than one step removes.
func prune(ctx context.Context, step func(context.Context, time.Time, int) (int, error), at time.Time) error {
	for {
		removed, err := step(ctx, at, pruneAtOnce)
		if err != nil || removed < pruneAtOnce {
			return err
		}
	}
}
