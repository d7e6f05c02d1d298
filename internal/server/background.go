package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// background runs work in a goroutine. stop cancels its context and waits for it to return.
func background(log zerolog.Logger, what string, work func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := work(ctx); err != nil && !errors.Is(err, context.Canceled) {
			log.Error().Err(err).Msg(what)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// atTicks calls do now, and at each tick until ctx ends.
func atTicks(ctx context.Context, ticks <-chan time.Time, do func()) error {
	for {
		do()
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// every calls do now, and then each d until ctx ends.
func every(ctx context.Context, d time.Duration, do func()) error {
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	return atTicks(ctx, ticker.C, do)
}

func logError(log zerolog.Logger, what string, do func() error) {
	if err := do(); err != nil {
		log.Error().Err(err).Msg(what)
	}
}
