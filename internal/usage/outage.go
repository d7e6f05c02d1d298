package usage

import (
	"time"

	"github.com/rs/zerolog"
)

// outage is a time during which writes to the store fail. Instead of every failed write it logs its
// start, its end, and a line every reportInterval.
type outage struct {
	since, reported time.Time
}

func (o *outage) failed(log zerolog.Logger, now time.Time, err error) {
	if o.since.IsZero() {
		o.since = now
	}
	if o.reported.IsZero() || now.Sub(o.reported) >= reportInterval {
		o.reported = now
		log.Error().Err(err).Dur(
			"for_ms",
			now.Sub(o.since),
		).Msg("can't record usage: it stays in memory and is written again later")
	}
}

func (o *outage) ended(log zerolog.Logger, now time.Time) {
	if o.since.IsZero() {
		return
	}
	log.Info().Dur("after_ms", now.Sub(o.since)).Msg("usage is recorded again")
	*o = outage{}
}
