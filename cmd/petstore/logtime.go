package main

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// stamp adds the time to each event, in milliseconds, as RFC 3339 has it. It writes date and time once a second: zerolog's own
// stamp, which does for every event, takes 0.5 µs more.
type stamp struct{ second atomic.Pointer[stampedSecond] }

type stampedSecond struct {
	unix       int64
	time, zone string
}

// ended is the context of a request's event (internal/api): the clock was read just before, and to read it again takes 0.1 µs.
type ended interface{ Ended() time.Time }

// Run implements zerolog.Hook.
func (s *stamp) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	var now time.Time
	if request, ok := e.GetCtx().(ended); ok {
		now = request.Ended()
	} else {
		now = time.Now()
	}
	var space [40]byte
	e.RawJSON(zerolog.TimestampFieldName, s.append(space[:0], now))
}

func (s *stamp) append(b []byte, now time.Time) []byte {
	second := s.second.Load()
	if second == nil || second.unix != now.Unix() {
		second = &stampedSecond{now.Unix(), now.Format(`"2006-01-02T15:04:05.`), now.Format(`Z07:00"`)}
		s.second.Store(second)
	}
	ms := now.Nanosecond() / int(time.Millisecond)
	b = append(append(b, second.time...), byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
	return append(b, second.zone...)
}
