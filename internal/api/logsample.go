package api

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/loglimit"
)

const (
	// sampledLines is how many requests a sampled log has in each samplePeriod.
	sampledLines = 100
	samplePeriod = time.Second
)

// sampled returns a logger for requests that no plan limits, so that a flood of them does not fill
// the log. In each period it leaves out lines beyond sampledLines. It logs their number once, with
// the message.
func sampled(log zerolog.Logger, message string) zerolog.Logger {
	left := &leftOut{log: log, message: message}
	return log.Sample(&zerolog.BurstSampler{Burst: sampledLines, Period: samplePeriod, NextSampler: left})
}

// leftOut counts the events that are left out.
type leftOut struct {
	log     zerolog.Logger
	message string
	count   atomic.Int64
}

// Sample implements zerolog.Sampler: it leaves the event out.
func (l *leftOut) Sample(zerolog.Level) bool {
	if l.count.Add(1) == 1 {
		time.AfterFunc(samplePeriod, l.report)
	}
	return false
}

func (l *leftOut) report() {
	l.log.Info().Int64(loglimit.Suppressed, l.count.Swap(0)).Msg(l.message)
}

// trouble is a kind of failure on our side.
type trouble struct{ code, reason, route string }

// newTrouble returns the limiter of the log lines about trouble.
func newTrouble(log zerolog.Logger) *loglimit.Limiter[trouble] {
	return loglimit.New(func(of trouble, suppressed int64) {
		e := log.Error().Str("code", of.code).Str("route", of.route)
		if of.reason != "" {
			e.Str("reason", of.reason)
		}
		e.Int64(loglimit.Suppressed, suppressed).Msg("requests that failed")
	})
}
