package api

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

const (
	// strangerLines is how many requests without a valid key are logged in each strangerPeriod: so many with an error, and so many
	// others.
	strangerLines  = 100
	strangerPeriod = time.Second
)

// sampleStrangers returns a logger for requests without a valid key. Anybody can send those, so a flood of them must not fill the
// log. It leaves out what is beyond strangerLines, and logs once in each period how many that were.
func sampleStrangers(log zerolog.Logger) zerolog.Logger {
	left := &leftOut{log: log}
	burst := func() zerolog.Sampler {
		return &zerolog.BurstSampler{Burst: strangerLines, Period: strangerPeriod, NextSampler: left}
	}
	return log.Sample(zerolog.LevelSampler{InfoSampler: burst(), ErrorSampler: burst()})
}

// leftOut counts the events that are left out.
type leftOut struct {
	log   zerolog.Logger
	count atomic.Int64
}

// Sample implements zerolog.Sampler: it leaves the event out.
func (l *leftOut) Sample(zerolog.Level) bool {
	if l.count.Add(1) == 1 {
		time.AfterFunc(strangerPeriod, l.report)
	}
	return false
}

func (l *leftOut) report() {
	l.log.Info().Int64("suppressed", l.count.Swap(0)).Msg("requests without a valid key")
}
