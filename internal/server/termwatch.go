package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
)

const (
	watchEvery = 200 * time.Millisecond
	// withoutTerm is how long a server may have no term that it can decide in: longer than one
	// waits for a silent server, or for leases of which a database that was set back does not know.
	withoutTerm = cluster.MaxFenceTimeout
)

// termWatch notices that this server has no term to decide limits in for longer than withoutTerm,
// as no change of terms takes.
type termWatch struct {
	// decides reports whether there is one now.
	decides func() bool
	log     zerolog.Logger
	lost    atomic.Bool
	// turns counts how often it has looked.
	turns atomic.Int64
}

// run looks until ctx ends, and logs when the term is lost and when there is one again. Time counts
// by the monotonic clock, and a process that was frozen has not lost its term for that.
func (w *termWatch) run(ctx context.Context) error {
	missing := 0
	return every(ctx, watchEvery, func() {
		missing++
		if w.decides() {
			missing = 0
		}
		w.turns.Add(1)
		lost := missing > int(withoutTerm/watchEvery)
		if was := w.lost.Swap(lost); lost && !was {
			w.log.Error().Dur(
				"for_ms",
				withoutTerm,
			).Msg("limits: no term is in force on this server: requests are refused")
		} else if was && !lost {
			w.log.Info().Msg("limits: a term is in force again")
		}
	})
}
