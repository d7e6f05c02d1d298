package api

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/loglimit"
)

const (
	// sampledLines is how many requests are logged by a sampled log in each samplePeriod.
	sampledLines = 100
	samplePeriod = time.Second
)

// sampled returns a logger for requests that no plan limits, so that a flood of them does not fill
// the log. It leaves out what is beyond sampledLines, and logs once in each period how many that
// were, with the message.
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
