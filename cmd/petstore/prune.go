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
	// pruneAtOnce keeps each step short: a request that writes over an expired key waits for it.
	pruneAtOnce = 500
	// keyLimitAge is more than servers' clocks can differ.
	keyLimitAge = 10 * time.Minute
)

// pruner removes rows that are no longer needed: at most limit that ended before the instant. It returns how many it removed.
type pruner func(ctx context.Context, before time.Time, limit int) (int, error)

// expiring is a kind of row that is kept for a time after its end.
type expiring struct {
	prune pruner
	kept  time.Duration
}

// startPruning removes what has expired every minute until stop is called.
func startPruning(db *store.DB, log zerolog.Logger) (stop func()) {
	tick := time.NewTicker(pruneEvery)
	end := background(log, "remove what has expired", pruning(allExpiring(db), tick.C, log))
	return func() {
		end()
		tick.Stop()
	}
}

// pruning returns the work of removing what has expired, now and at every tick until its context ends. What fails is
// tried again at the next tick: the rows are only in the way of the disk.
func pruning(all []expiring, tick <-chan time.Time, log zerolog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			if err := pruneAll(ctx, all); err != nil && ctx.Err() == nil {
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

func allExpiring(db *store.DB) []expiring {
	return []expiring{
		{prune: db.Idempotency.Prune},
		{prune: db.Refusals.Prune, kept: usage.RefusalAge},
		{prune: db.Counters.Prune, kept: keyLimitAge},
	}
}

func pruneAll(ctx context.Context, all []expiring) error {
	var errs []error
	for _, e := range all {
		errs = append(errs, e.pruneUntil(ctx, time.Now().Add(-e.kept)))
	}
	return errors.Join(errs...)
}

// pruneUntil goes on until fewer are left than one step removes.
func (e expiring) pruneUntil(ctx context.Context, before time.Time) error {
	for {
		removed, err := e.prune(ctx, before, pruneAtOnce)
		if err != nil || removed < pruneAtOnce {
			return err
		}
	}
}
