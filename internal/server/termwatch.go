package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
)

const (
	watchEvery = 200 * time.Millisecond
	// withoutTerm is how long a server may have no term that it can decide in. It is longer than
	// the wait for a silent server, or for leases unknown to a database that was set back.
	withoutTerm = cluster.MaxFenceTimeout
)

// termWatch notices when this server has had no term to decide limits in for longer than
// withoutTerm. No change of terms takes that long.
type termWatch struct {
	// decides reports whether this server can decide limits now.
	decides func() bool
	log     zerolog.Logger
	lost    atomic.Bool
	// turns counts how often it has looked.
	turns atomic.Int64
}

// run looks until ctx ends, and logs when the term is lost and when there is one again. It counts
// time by the monotonic clock. A process that was frozen has not lost its term.
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
