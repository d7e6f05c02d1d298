package main

import (
	"context"
	"errors"
	"sync"

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

func logError(log zerolog.Logger, what string, do func() error) {
	if err := do(); err != nil {
		log.Error().Err(err).Msg(what)
	}
}
