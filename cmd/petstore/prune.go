package main

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

const (
	pruneEvery = time.Minute
	// pruneBatch keeps each statement short, because a request that reuses an expired key waits for it.
	pruneBatch = 500
	// keyLimitAge is longer than the clocks of servers can differ.
	keyLimitAge = 10 * time.Minute
)

// pruner deletes at most limit rows that ended before that time, and returns how many it deleted.
type pruner func(ctx context.Context, before time.Time, limit int) (int, error)

// expiring is a kind of row that is kept for some time after its end.
type expiring struct {
	prune pruner
	age   time.Duration
}

// startPruning deletes expired rows every minute until stop is called.
func startPruning(db *store.DB, log zerolog.Logger) (stop func()) {
	tick := time.NewTicker(pruneEvery)
	end := background(log, "prune expired rows", pruning(allExpiring(db), tick.C, log))
	return func() {
		end()
		tick.Stop()
	}
}

// pruning returns a function that prunes now and at every tick until its context ends. After an error it tries again at the next
// tick, since expired rows only take disk space.
func pruning(all []expiring, tick <-chan time.Time, log zerolog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			if err := pruneAll(ctx, all); err != nil && ctx.Err() == nil {
				log.Warn().Err(err).Msg("prune expired rows")
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick:
			}
		}
	}
}

func allExpiring(db *store.DB) []expiring {
	return []expiring{
		{prune: db.Idempotency.Prune},
		{prune: db.Refusals.Prune, age: usage.RefusalAge},
		{prune: db.Counters.Prune, age: keyLimitAge},
	}
}

func pruneAll(ctx context.Context, all []expiring) error {
	var errs []error
	for _, e := range all {
		errs = append(errs, e.pruneUntil(ctx, time.Now().Add(-e.age)))
	}
	return errors.Join(errs...)
}

// pruneUntil repeats prune until it removes less than a full batch.
func (e expiring) pruneUntil(ctx context.Context, before time.Time) error {
	for {
		removed, err := e.prune(ctx, before, pruneBatch)
		if err != nil || removed < pruneBatch {
			return err
		}
	}
}
