package main

import (
	"context"
	"time"

	"github.com/rs/zerolog"
)

const (
	pruneEvery = time.Minute
	// pruneAtOnce keeps each step short: a request that writes over an expired key waits for it.
	pruneAtOnce = 500
)

// keyPruner removes idempotency keys that have expired, at most limit, and returns how many.
type keyPruner interface {
	PruneIdempotencyKeys(ctx context.Context, now time.Time, limit int) (int, error)
}

// startPruning removes expired idempotency keys every minute until stop is called.
func startPruning(db keyPruner, log zerolog.Logger) (stop func()) {
	tick := time.NewTicker(pruneEvery)
	end := background(log, "remove expired idempotency keys", pruning(db, tick.C, log))
	return func() {
		end()
		tick.Stop()
	}
}

// pruning returns the work of removing expired idempotency keys, now and at every tick until its context ends. What
// fails is tried again at the next tick: the keys are only in the way of the disk.
func pruning(db keyPruner, tick <-chan time.Time, log zerolog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			if err := pruneAll(ctx, db); err != nil && ctx.Err() == nil {
				log.Warn().Err(err).Msg("remove expired idempotency keys")
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick:
			}
		}
	}
}

func pruneAll(ctx context.Context, db keyPruner) error {
	for {
		removed, err := db.PruneIdempotencyKeys(ctx, time.Now(), pruneAtOnce)
		if err != nil || removed < pruneAtOnce {
			return err
		}
	}
}
